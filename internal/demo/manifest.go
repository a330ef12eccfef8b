package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// fieldOwner owns the fields that are applied from manifests.
const fieldOwner = client.FieldOwner("karpenter-demo")

// NewClient returns a client for the cluster of a kubeconfig, without a rate limit. types adds types to its scheme.
func NewClient(kubeconfig string, types ...func(*runtime.Scheme) error) (client.Client, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading kubeconfig %s: %w", kubeconfig, err)
	}
	config.QPS = -1
	scheme := runtime.NewScheme()
	for _, add := range append([]func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, apiextensionsv1.AddToScheme, v1.AddToScheme, v1alpha1.AddToScheme, schedulingv1beta1.AddToScheme,
	}, types...) {
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

// InstallCRDs creates the custom resource definitions and waits until they are served.
func InstallCRDs(ctx context.Context, c client.Client, definitions []*apiextensionsv1.CustomResourceDefinition) error {
	for _, crd := range definitions {
		if err := c.Create(ctx, crd); err != nil {
			return fmt.Errorf("installing CRD %s: %w", crd.Name, err)
		}
	}
	for _, crd := range definitions {
		err := Poll(ctx, 30*time.Second, "CRD "+crd.Name+" to be served", func() (bool, error) {
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

// Apply applies every object of a manifest file, after change has seen it; change may be nil.
func Apply(ctx context.Context, c client.Client, dir fs.FS, file string, change func(*unstructured.Unstructured) error) error {
	text, err := fs.ReadFile(dir, file)
	if err != nil {
		return fmt.Errorf("reading manifest: %w", err)
	}
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := documents.Decode(object); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("reading manifest %s: %w", file, err)
		}
		if change != nil {
			if err := change(object); err != nil {
				return fmt.Errorf("changing %s: %w", file, err)
			}
		}
		if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), fieldOwner, client.ForceOwnership); err != nil {
			return fmt.Errorf("applying %s: %w", file, err)
		}
	}
}

// pollPeriod is the polling interval of the demo.
const pollPeriod = 200 * time.Millisecond

// ErrBroken is part of an error that no waiting mends.
var ErrBroken = errors.New("this must not happen")

// Poll calls done until it returns true, an error that is ErrBroken, or the limit is reached.
func Poll(ctx context.Context, limit time.Duration, what string, done func() (bool, error)) error {
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
		if errors.Is(err, ErrBroken) {
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
