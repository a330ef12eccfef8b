package options

import "fmt"

// Ignored is a setting that is accepted and ignored.
type Ignored struct {
	// Setting is the flag or gate as a user would write it.
	Setting string
	// Consequence is the reason why it is ignored.
	Consequence string
	// isSet reports whether it was changed from its default.
	isSet func(Options) bool
}

// IgnoredSettings lists the settings that are accepted for compatibility and ignored.
func IgnoredSettings() []Ignored {
	return []Ignored{
		{"--karpenter-service", "it named the service of a webhook that no longer exists", func(o Options) bool { return o.KarpenterService != "" }},
	}
}

// Ignored returns the ignored settings that were changed from their default, in a fixed order.
func (o Options) Ignored() []Ignored {
	var out []Ignored
	for _, setting := range IgnoredSettings() {
		if setting.isSet(o) {
			out = append(out, setting)
		}
	}
	return out
}

// String is one sentence for a log line.
func (i Ignored) String() string {
	return fmt.Sprintf("%s is ignored: %s", i.Setting, i.Consequence)
}
