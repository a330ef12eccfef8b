package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awscrds "github.com/karpenter-anew/karpenter/api/aws/crds"
	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/api/crds"
	kwokcrds "github.com/karpenter-anew/karpenter/api/kwok/crds"
	"github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// fieldOwner owns the fields that are applied from manifests.
const fieldOwner = client.FieldOwner("karpenter-demo")

// newClient returns a client for the cluster of a kubeconfig, without a rate limit.
func newClient(kubeconfig string) (client.Client, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading kubeconfig %s: %w", kubeconfig, err)
	}
	config.QPS = -1
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, apiextensionsv1.AddToScheme, v1.AddToScheme, v1alpha1.AddToScheme, awsv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("building the client: %w", err)
		}
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("building the client: %w", err)
	}
	return c, nil
}

// definitions are those that the controller needs; those of earlier APIs only where it serves them. It has the same
// environment.
func definitions(s settings) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	read := kwokcrds.Definitions
	if s.cloud == cloudAWS {
		read = awscrds.Definitions
	}
	out, err := read()
	if err != nil || !strings.Contains(os.Getenv("FEATURE_GATES"), "LegacyProvisioner=true") {
		return out, err
	}
	legacy, err := crds.Legacy()
	return append(out, legacy...), err
}

// installCRDs creates the custom resource definitions and waits until they are served.
func installCRDs(ctx context.Context, c client.Client, s settings) error {
	definitions, err := definitions(s)
	if err != nil {
		return err
	}
	for _, crd := range definitions {
		if err := c.Create(ctx, crd); err != nil {
			return fmt.Errorf("installing CRD %s: %w", crd.Name, err)
		}
	}
	for _, crd := range definitions {
		err := poll(ctx, 30*time.Second, "CRD "+crd.Name+" to be served", func() (bool, error) {
			if err := c.Get(ctx, client.ObjectKeyFromObject(crd), crd); err != nil {
				return false, err
			}
			for _, condition := range crd.Status.Conditions {
				if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
					return true, nil
				}
			}
			return false, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// apply applies every object of a manifest file, after change has seen it; change may be nil.
func apply(ctx context.Context, c client.Client, dir, file string, change func(*unstructured.Unstructured) error) error {
	path := filepath.Join(dir, file)
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading manifest: %w", err)
	}
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := documents.Decode(object); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("reading manifest %s: %w", path, err)
		}
		if change != nil {
			if err := change(object); err != nil {
				return fmt.Errorf("changing %s: %w", path, err)
			}
		}
		if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), fieldOwner, client.ForceOwnership); err != nil {
			return fmt.Errorf("applying %s: %w", path, err)
		}
	}
}

// pollPeriod is the polling interval of the demo.
const pollPeriod = 200 * time.Millisecond

// errBroken is part of an error that no waiting mends.
var errBroken = errors.New("this must not happen")

// poll calls done until it returns true, an error that is errBroken, or the limit is reached.
func poll(ctx context.Context, limit time.Duration, what string, done func() (bool, error)) error {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	tick := time.NewTicker(pollPeriod)
	defer tick.Stop()
	var last error
	for {
		ok, err := done()
		if ok {
			return nil
		}
		if errors.Is(err, errBroken) {
			return err
		}
		if err != nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, context.Cause(ctx))
		case <-deadline.C:
			return errors.Join(fmt.Errorf("waited %s for %s", limit.Round(time.Second), what), last)
		case <-tick.C:
		}
	}
}
