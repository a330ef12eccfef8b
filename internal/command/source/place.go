package source

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/alecthomas/kong"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/plugin"
	"github.com/karpenter-anew/karpenter/internal/command"
	"github.com/karpenter-anew/karpenter/internal/manifest"
	"github.com/karpenter-anew/karpenter/internal/options"
)

// Place is the cloud provider of offline commands: without a cluster and without an account.
type Place struct {
	// Provider is empty where the node classes decide.
	Provider options.CloudProvider `name:"cloud-provider" envvar:"CLOUD_PROVIDER" group:"Cloud provider" placeholder:"NAME" help:"Cloud provider; otherwise the one of the node classes that the NodePools refer to. Known: ${cloud_providers}."`
	KWOK     options.KWOK          `embed:""`
	// InstanceTypes correct the instance types of any cloud that needs it.
	InstanceTypes options.InstanceTypes `embed:""`
	// Offline are the providers, each a plugin.Offline, in the order of providers.
	Offline kong.Plugins `embed:""`

	binary command.Binary
}

// NewPlace returns a place with the flags of all providers.
func NewPlace(b command.Binary) Place {
	out := Place{binary: b}
	for _, p := range b.Providers {
		out.Offline = append(out.Offline, p.Offline())
	}
	return out
}

// catalog is the one of the flags.
func (p Place) catalog() plugin.Catalog {
	return plugin.Catalog{
		Name: p.KWOK.Catalog, File: p.KWOK.InstanceTypesFilePath, VMMemoryOverheadPercent: p.InstanceTypes.VMMemoryOverheadPercent,
	}
}

// Reader reads manifests of the core kinds and of all node classes.
func (p Place) Reader() (*manifest.Reader, error) {
	definitions, err := p.definitions()
	if err != nil {
		return nil, err
	}
	return manifest.NewReader(definitions, p.binary.Providers.Schemes()...)
}

// definitions are those of the core kinds and of all node classes.
func (p Place) definitions() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	all := slices.Clone(p.binary.Providers)
	// All providers have the core kinds, restricted to the labels of their cloud: the chosen provider sorts first.
	slices.SortStableFunc(all, func(a, b plugin.Provider) int {
		rank := func(of plugin.Provider) int {
			if of.Name == p.Provider {
				return 0
			}
			return 1
		}
		return cmp.Compare(rank(a), rank(b))
	})
	var out []*apiextensionsv1.CustomResourceDefinition
	for _, provider := range all {
		definitions, err := provider.Definitions()
		if err != nil {
			return nil, err
		}
		for _, d := range definitions {
			if !slices.ContainsFunc(out, func(have *apiextensionsv1.CustomResourceDefinition) bool { return have.Name == d.Name }) {
				out = append(out, d)
			}
		}
	}
	return out, nil
}

// offline finds a provider by its name.
func (p Place) offline(name options.CloudProvider) (plugin.Offline, error) {
	at := slices.Index(p.binary.Providers.Names(), name)
	if at < 0 {
		return nil, fmt.Errorf("cloud provider %q is not part of this binary", name)
	}
	found, ok := p.Offline[at].(plugin.Offline)
	if !ok {
		return nil, fmt.Errorf("cloud provider %q has no simulation", name)
	}
	return found, nil
}

// Check reports mistakes in the flags, before any input is read.
func (p Place) Check() error {
	_, err := p.named()
	return err
}

// named is the cloud that the flags name, or else the default one.
func (p Place) named() (cloud.Cloud, error) {
	var refusals options.Refusals
	p.InstanceTypes.Validate(refusals.Refuse)
	errs := []error{refusals.Err()}
	for _, flags := range p.Offline {
		if o, ok := flags.(plugin.Offline); ok {
			errs = append(errs, o.Check())
		}
	}
	if err := errors.Join(errs...); err != nil {
		return cloud.Cloud{}, err
	}
	name := cmp.Or(p.Provider, p.providerOfCatalog(), options.CloudProviderKWOK)
	chosen, err := p.offline(name)
	if err != nil {
		return cloud.Cloud{}, err
	}
	opened, err := chosen.Open(p.catalog())
	return opened, p.opening(name, err)
}

// providerOfCatalog returns the provider that lists the catalog of the flags; empty if none does.
func (p Place) providerOfCatalog() options.CloudProvider {
	if p.KWOK.InstanceTypesFilePath != "" {
		return ""
	}
	for _, provider := range p.binary.Providers {
		if provider.Catalogs != nil && slices.Contains(provider.Catalogs(), p.KWOK.Catalog) {
			return provider.Name
		}
	}
	return ""
}

// opening says which provider could not be opened. A file of the user that cannot be used is a mistake in the input.
func (p Place) opening(name options.CloudProvider, err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("opening cloud provider %q: %w", name, err)
	if p.KWOK.InstanceTypesFilePath != "" {
		return command.WithCode(err, command.ExitUsage)
	}
	return err
}

// CloudFor opens the cloud for objects: the one that the flags name, or else the one whose node classes the NodePools refer to. complete adds what
// is assumed about them, such as AsTaken.
func (p Place) CloudFor(objects []client.Object, complete func([]client.Object, cloud.Cloud) []client.Object) (plugin.Opened, error) {
	name := cmp.Or(p.Provider, options.CloudProviderKWOK)
	if p.Provider == "" && p.KWOK.InstanceTypesFilePath == "" {
		name = cmp.Or(p.providerOfPools(objects), name)
	}
	if name != options.CloudProviderKWOK && p.KWOK.InstanceTypesFilePath != "" {
		return plugin.Opened{}, command.WithCode(errors.New("--instance-types-file-path is for cloud provider kwok"), command.ExitUsage)
	}
	chosen, err := p.offline(name)
	if err != nil {
		return plugin.Opened{}, err
	}
	opened, err := chosen.OpenFor(plugin.Simulation{Catalog: p.catalog(), Objects: objects, Complete: complete})
	return opened, p.opening(name, err)
}

// providerOfPools returns the provider whose node classes all NodePools refer to; empty if they differ or refer to none.
func (p Place) providerOfPools(objects []client.Object) options.CloudProvider {
	var found options.CloudProvider
	for _, o := range objects {
		pool, ok := o.(*v1.NodePool)
		if !ok || pool.Spec.Template.Spec.NodeClassRef == nil {
			continue
		}
		name := p.binary.Providers.OfGroup(pool.Spec.Template.Spec.NodeClassRef.Group)
		if name == "" || found != "" && name != found {
			return ""
		}
		found = name
	}
	return found
}

// AsTaken assumes nothing: an object that a cluster does not have is missing.
func AsTaken(objects []client.Object, _ cloud.Cloud) []client.Object { return objects }
