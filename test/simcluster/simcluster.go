// Package simcluster starts a real control plane with the CRDs of a cloud provider, for programs that try the built controller on it.
package simcluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/test/controlplane"
)

// Cluster is a control plane in which the CRDs are served.
type Cluster struct {
	*controlplane.ControlPlane
	// Client reads and writes past any cache, without a limit of its rate.
	Client client.Client
	// Config is that of Client.
	Config *rest.Config
}

// Start runs the launcher at this path and installs these CRDs. Stop ends the cluster.
func Start(ctx context.Context, launcher string, definitions []*apiextensionsv1.CustomResourceDefinition) (*Cluster, error) {
	plane, err := controlplane.Start(ctx, launcher, nil)
	if err != nil {
		return nil, err
	}
	c := &Cluster{ControlPlane: plane}
	if err := c.connect(ctx, definitions); err != nil {
		return nil, errors.Join(err, plane.Stop())
	}
	return c, nil
}

func (c *Cluster) connect(ctx context.Context, definitions []*apiextensionsv1.CustomResourceDefinition) (err error) {
	if c.Config, err = clientcmd.BuildConfigFromFlags("", c.Kubeconfig); err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	c.Config.QPS = -1
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, v1.AddToScheme, v1alpha1.AddToScheme, opsv1alpha1.AddToScheme, awsv1.AddToScheme, apiextensionsv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return fmt.Errorf("building the client: %w", err)
		}
	}
	if c.Client, err = client.New(c.Config, client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("building the client: %w", err)
	}
	for _, d := range definitions {
		if err := c.Client.Create(ctx, d); err != nil {
			return fmt.Errorf("installing the CRD %s: %w", d.Name, err)
		}
	}
	for _, d := range definitions {
		err := Retry(ctx, func() error {
			var served apiextensionsv1.CustomResourceDefinition
			if err := c.Client.Get(ctx, client.ObjectKeyFromObject(d), &served); err != nil {
				return err
			}
			return established(&served)
		})
		if err != nil {
			return fmt.Errorf("waiting until the CRD %s is served: %w", d.Name, err)
		}
	}
	return nil
}

func established(d *apiextensionsv1.CustomResourceDefinition) error {
	for _, c := range d.Status.Conditions {
		if c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue {
			return nil
		}
	}
	return errors.New("it is not established")
}

// Retry tries until there is no error or a minute is over: the API server may be down.
func Retry(ctx context.Context, try func() error) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Change reads an object, changes it and writes it, and retries on any error.
func Change[T client.Object](ctx context.Context, c client.Client, o T, edit func(T)) error {
	err := Retry(ctx, func() error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		edit(o)
		return c.Update(ctx, o)
	})
	if err != nil {
		return fmt.Errorf("changing %T %q: %w", o, o.GetName(), err)
	}
	return nil
}
