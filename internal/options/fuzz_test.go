package options_test

import (
	"testing"

	"github.com/karpenter-anew/karpenter/internal/options"
)

// FuzzSchedulerConfig holds whatever a ConfigMap has: reading ends, and constraints that are accepted have a skew of at least 1 and a key.
func FuzzSchedulerConfig(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "a: [", "podTopologySpread: {defaultConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]}",
		"podTopologySpread: {defaultConstraints: [{maxSkew: -1}]}", "podTopologySpread: null", "a: &a [*a]", "x: !!binary AA==",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		config, err := options.ParseSchedulerConfig(text)
		if err != nil {
			return
		}
		for _, c := range config.DefaultConstraints() {
			if c.MaxSkew < 1 || c.TopologyKey == "" {
				t.Errorf("%q is accepted with %+v", text, c)
			}
		}
	})
}
