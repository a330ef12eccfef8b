package command

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/karpenter-anew/karpenter/cloud/plugin"
	"github.com/karpenter-anew/karpenter/internal/options"
)

// Binary is what the commands know of the program that they are part of.
type Binary struct {
	// Version is stamped at link time; empty if it is not.
	Version string
	// Providers are the cloud providers, the default first.
	Providers Providers
	// Now returns the time of the host. After is like time.After.
	Now   func() time.Time
	After func(time.Duration) <-chan time.Time
}

// Providers are cloud providers, the default first.
type Providers []plugin.Provider

// Named finds a provider.
func (p Providers) Named(name options.CloudProvider) (plugin.Provider, error) {
	at := slices.IndexFunc(p, func(p plugin.Provider) bool { return p.Name == name })
	if at < 0 {
		return plugin.Provider{}, fmt.Errorf("cloud provider %q is not part of this binary", name)
	}
	return p[at], nil
}

// Names returns the values of --cloud-provider.
func (p Providers) Names() []options.CloudProvider {
	var out []options.CloudProvider
	for _, p := range p {
		out = append(out, p.Name)
	}
	return out
}

// Settings returns new settings of all providers that have some.
func (p Providers) Settings() []options.ProviderSettings {
	var out []options.ProviderSettings
	for _, p := range p {
		if p.Settings != nil {
			out = append(out, p.Settings())
		}
	}
	return out
}

// Schemes returns what registers the API types of all providers.
func (p Providers) Schemes() []func(*runtime.Scheme) error {
	var out []func(*runtime.Scheme) error
	for _, p := range p {
		out = append(out, p.AddToScheme)
	}
	return out
}

// OfGroup returns the provider with node classes of an API group; empty if there is none.
func (p Providers) OfGroup(group string) options.CloudProvider {
	for _, p := range p {
		for _, class := range p.NodeClasses {
			if class.Group == group {
				return p.Name
			}
		}
	}
	return ""
}
