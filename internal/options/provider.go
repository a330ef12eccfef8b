package options

import (
	"reflect"

	"github.com/alecthomas/kong"
)

// ProviderSettings are the settings that only one cloud provider has: a pointer to a struct whose fields have the same tags as those of Options.
// Settings that several providers have are in Options: see Cluster and InstanceTypes.
type ProviderSettings interface {
	// Provider returns the cloud provider that the settings belong to.
	Provider() CloudProvider
	// Validate checks conditions that the form of a single value does not show. Required settings are required only if the provider is selected.
	// all has those of other sub-structs, which are checked elsewhere.
	Validate(all Options, refuse Refuse)
}

// ProviderGates is implemented by settings of a provider that have feature gates.
type ProviderGates interface {
	// GatesWithoutEffect returns the names of the gates that are on, or that a setting names, although this version has nothing that they switch.
	GatesWithoutEffect() []string
}

// GatesWithoutEffect returns the names of the gates of the chosen provider that are set although this version has nothing that they switch.
func (o Options) GatesWithoutEffect() []string {
	var out []string
	for _, s := range o.Providers {
		settings, _ := s.(ProviderSettings)
		if gates, ok := s.(ProviderGates); ok && settings.Provider() == o.CloudProvider {
			out = append(out, gates.GatesWithoutEffect()...)
		}
	}
	return out
}

// Refuse reports that the value of a flag is not valid. The text names the allowed values.
type Refuse func(flag, env string, value any, format string, args ...any)

// WithProviders returns empty options with settings of cloud providers, ready to be part of the grammar of a command line.
func WithProviders(settings ...ProviderSettings) Options {
	var out Options
	for _, s := range settings {
		out.Providers = append(out.Providers, s)
	}
	return out
}

// SettingsOf returns the settings of type T among those of the cloud providers, or nil.
func SettingsOf[T any](o Options) *T {
	for _, s := range o.Providers {
		if found, ok := s.(*T); ok {
			return found
		}
	}
	return nil
}

// namesOf returns the cloud providers that can be chosen, the default first.
func namesOf(settings []ProviderSettings) []CloudProvider {
	out := []CloudProvider{CloudProviderKWOK}
	for _, s := range settings {
		out = append(out, s.Provider())
	}
	return out
}

// DecodeText decodes the text of a flag with parse, for types that implement kong.MapperValue. The error names the flag and its value.
func DecodeText[T any](ctx *kong.DecodeContext, target *T, parse func(string) (T, error)) error {
	return textMapper(parse, "").Decode(ctx, reflect.ValueOf(target).Elem())
}
