package kwok

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kwokcrds "github.com/karpenter-anew/karpenter/api/kwok/crds"
	"github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/plugin"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/options"
)

// Provider returns what the simulated provider registers. Its kinds are part of internal/snapshot/fields.txt and its flags of
// options.KWOK, because every provider may use the catalogs.
func Provider() plugin.Provider {
	open := func(c client.Client, o options.Options, _ *observe.Telemetry, now clock.WithTicker) (cloud.Cloud, error) {
		return New(c, Options{Catalog: o.KWOK.Catalog, InstanceTypesFile: o.KWOK.InstanceTypesFilePath, Clock: now})
	}
	return plugin.Provider{
		Name:        options.CloudProviderKWOK,
		NodeClasses: []schema.GroupVersionKind{v1alpha1.SchemeGroupVersion.WithKind("KWOKNodeClass")},
		AddToScheme: v1alpha1.AddToScheme,
		Definitions: kwokcrds.Definitions,
		Check: func(o options.Options) error {
			_, err := open(nil, o, nil, nil) // reads the catalog; the client is only kept
			return err
		},
		Open: open,
		Published: func(o options.Options, _ cloud.Cloud) map[string]string {
			if file := o.KWOK.InstanceTypesFilePath; file != "" {
				return map[string]string{"instance-types-file-path": file}
			}
			return map[string]string{"catalog": o.KWOK.Catalog}
		},
		Offline: func() plugin.Offline { return &offline{} },
	}
}

// offline opens the provider for simulations. It has no flags.
type offline struct{}

// Check implements plugin.Offline.
func (*offline) Check() error { return nil }

// Open implements plugin.Offline.
func (*offline) Open(c plugin.Catalog) (cloud.Cloud, error) {
	return New(nil, Options{Catalog: c.Name, InstanceTypesFile: c.File})
}

// OpenFor implements plugin.Offline.
func (o *offline) OpenFor(s plugin.Simulation) (plugin.Opened, error) {
	opened, err := o.Open(s.Catalog)
	if err != nil {
		return plugin.Opened{}, err
	}
	source := "catalog " + s.Catalog.Name
	if s.Catalog.File != "" {
		source = "file " + s.Catalog.File
	}
	return plugin.Opened{Cloud: opened, Objects: s.Complete(s.Objects, opened), Source: source}, nil
}
