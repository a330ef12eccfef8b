package kwok

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kwokcrds "github.com/karpenter-anew/karpenter/api/kwok/crds"
	"github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/registration"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/options"
)

// Provider returns what the simulated provider registers. Its kinds are part of internal/snapshot/fields.txt and its flags of
// options.KWOK, because every provider may use the catalogs.
func Provider() registration.Provider {
	open := func(c client.Client, o options.Options, _ *observe.Telemetry) (cloud.Cloud, error) {
		return New(c, Options{Catalog: o.KWOK.Catalog, InstanceTypesFile: o.KWOK.InstanceTypesFilePath})
	}
	return registration.Provider{
		Name:        options.CloudProviderKWOK,
		NodeClasses: []schema.GroupVersionKind{v1alpha1.SchemeGroupVersion.WithKind("KWOKNodeClass")},
		AddToScheme: v1alpha1.AddToScheme,
		Definitions: kwokcrds.Definitions,
		Check: func(o options.Options) error {
			_, err := open(nil, o, nil) // reads the catalog; the client is only kept
			return err
		},
		Open:    open,
		Offline: func() registration.Offline { return &offline{} },
	}
}

// offline opens the provider for simulations. It has no flags.
type offline struct{}

// Check implements registration.Offline.
func (*offline) Check() error { return nil }

// Open implements registration.Offline.
func (*offline) Open(c registration.Catalog) (cloud.Cloud, error) {
	return New(nil, Options{Catalog: c.Name, InstanceTypesFile: c.File})
}

// OpenFor implements registration.Offline.
func (o *offline) OpenFor(s registration.Simulation) (registration.Opened, error) {
	opened, err := o.Open(s.Catalog)
	if err != nil {
		return registration.Opened{}, err
	}
	return registration.Opened{Cloud: opened, Objects: s.Complete(s.Objects, opened)}, nil
}
