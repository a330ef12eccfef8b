package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/crds"
	kwokv1alpha1 "github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/test/controlplane"
)

// plane is a running control plane with what both controllers need in it.
type plane struct {
	client.WithWatch
	cluster *controlplane.ControlPlane
	// kubeconfig is the path of the administrator's kubeconfig.
	kubeconfig string

	rest *rest.RESTClient
}

// startPlane starts a control plane with the definitions and the NodeClass.
func startPlane(ctx context.Context, s settings) (*plane, error) {
	cluster, err := controlplane.Start(ctx, s.launcher, nil)
	if err != nil {
		return nil, err
	}
	p := &plane{cluster: cluster, kubeconfig: cluster.Kubeconfig}
	if err := p.prepare(ctx); err != nil {
		return nil, errors.Join(err, cluster.Stop())
	}
	return p, nil
}

func (p *plane) prepare(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", p.kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.QPS = -1
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, apiextensionsv1.AddToScheme, v1.AddToScheme, kwokv1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return fmt.Errorf("building the client: %w", err)
		}
	}
	if p.WithWatch, err = client.NewWithWatch(config, client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("building the client: %w", err)
	}
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme)
	if p.rest, err = rest.UnversionedRESTClientFor(config); err != nil {
		return fmt.Errorf("building the client: %w", err)
	}
	definitions, err := crds.Kwok()
	if err != nil {
		return err
	}
	for _, crd := range definitions {
		if err := p.Create(ctx, crd); err != nil {
			return fmt.Errorf("installing CRD %s: %w", crd.Name, err)
		}
	}
	class := &kwokv1alpha1.KWOKNodeClass{}
	class.Name = poolName
	return await(ctx, time.Minute, "the NodeClass to be taken", func() error {
		return client.IgnoreAlreadyExists(p.Create(ctx, class))
	})
}

// await tries until there is no error, or the time is up.
func await(ctx context.Context, limit time.Duration, what string, try func() error) error {
	deadline := time.Now().Add(limit)
	for {
		err := try()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("waited %s for %s: %w", limit, what, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, context.Cause(ctx))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// keepMetrics writes what the API server tells of itself to a file: which requests it got, for one.
func (p *plane) keepMetrics(ctx context.Context, file string) error {
	text, err := p.rest.Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return fmt.Errorf("reading the metrics of the API server: %w", err)
	}
	return os.WriteFile(file, text, 0o644)
}
