package main

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/karpenter-anew/karpenter/cloud/aws"
	"github.com/karpenter-anew/karpenter/cloud/azure"
	"github.com/karpenter-anew/karpenter/cloud/kwok"
	"github.com/karpenter-anew/karpenter/cloud/plugin"
	"github.com/karpenter-anew/karpenter/internal/options"
	"github.com/karpenter-anew/karpenter/internal/snapshot"
)

// providers lists the cloud providers of this binary, the default first. It is the one place that names them.
func providers() []plugin.Provider {
	return []plugin.Provider{
		kwok.Provider(),
		aws.Provider(),
		azure.Provider(),
	}
}

// providerNamed finds a provider.
func providerNamed(name options.CloudProvider) (plugin.Provider, error) {
	all := providers()
	at := slices.IndexFunc(all, func(p plugin.Provider) bool { return p.Name == name })
	if at < 0 {
		return plugin.Provider{}, fmt.Errorf("cloud provider %q is not part of this binary", name)
	}
	return all[at], nil
}

// providerNames returns the values of --cloud-provider.
func providerNames() []options.CloudProvider {
	var out []options.CloudProvider
	for _, p := range providers() {
		out = append(out, p.Name)
	}
	return out
}

// providerSettings returns new settings of all providers that have some.
func providerSettings() []options.ProviderSettings {
	var out []options.ProviderSettings
	for _, p := range providers() {
		if p.Settings != nil {
			out = append(out, p.Settings())
		}
	}
	return out
}

// schemes returns what registers the API types of all providers.
func schemes() []func(*runtime.Scheme) error {
	var out []func(*runtime.Scheme) error
	for _, p := range providers() {
		out = append(out, p.AddToScheme)
	}
	return out
}

// snapshotFormat returns the format of snapshots of clusters of any provider.
func snapshotFormat() (*snapshot.Format, error) {
	var all []plugin.Snapshot
	for _, p := range providers() {
		all = append(all, p.Snapshot)
	}
	return snapshot.NewFormat(all...)
}
