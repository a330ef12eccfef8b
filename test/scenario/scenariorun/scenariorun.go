// Package scenariorun turns a scenario into the input of the engine: the objects of its files, the simulated cloud of its catalog, and its
// settings as options of a simulation. The tests that use it run the engine and assert the result.
package scenariorun

import (
	"bytes"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	kwokcrds "github.com/karpenter-anew/karpenter/api/kwok/crds"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/kwok"
	"github.com/karpenter-anew/karpenter/internal/manifest"
	"github.com/karpenter-anew/karpenter/internal/options"
	"github.com/karpenter-anew/karpenter/internal/simulation"
	"github.com/karpenter-anew/karpenter/test/scenario/scenariofile"
)

// Reader returns a reader of the kinds that scenarios use: those of Kubernetes, of Karpenter and of the simulated cloud.
func Reader(t testing.TB) *manifest.Reader {
	t.Helper()
	definitions, err := kwokcrds.Definitions()
	if err != nil {
		t.Fatal(err)
	}
	reader, err := manifest.NewReader(definitions)
	if err != nil {
		t.Fatal(err)
	}
	return reader
}

// Clouds returns a function that opens the simulated cloud with a catalog, each once. The function is for one goroutine.
func Clouds(t testing.TB) func(catalog string) cloud.Cloud {
	t.Helper()
	opened := map[string]cloud.Cloud{}
	return func(catalog string) cloud.Cloud {
		c, ok := opened[catalog]
		if !ok {
			var err error
			if c, err = kwok.New(nil, kwok.Options{Catalog: catalog}); err != nil {
				t.Fatal(err)
			}
			opened[catalog] = c
		}
		return c
	}
}

// Objects returns the objects of a scenario, in the order of its files. Workloads are not expanded into pods.
func Objects(t testing.TB, reader *manifest.Reader, s scenariofile.Scenario) []client.Object {
	t.Helper()
	var out []client.Object
	for _, input := range s.Inputs {
		m, err := reader.Read(input.Name, bytes.NewReader(input.YAML))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, m.Objects...)
	}
	return out
}

// Later reads the objects that a scenario about disruption applies while the first commands wait.
func Later(t testing.TB, reader *manifest.Reader, s scenariofile.Scenario) []client.Object {
	t.Helper()
	s.Inputs = s.Later
	return Objects(t, reader, s)
}

// Settings returns the settings of a scenario as options of a simulation.
func Settings(t testing.TB, s scenariofile.Scenario) simulation.Options {
	t.Helper()
	config, err := options.ParseSchedulerConfig(s.Options.SchedulerConfig)
	if err != nil {
		t.Fatal(err)
	}
	return simulation.Options{
		CompareTolerations:  s.Options.CompareTolerations,
		Preferences:         simulation.PreferencePolicy(s.Options.PreferencePolicy),
		BestEffortMinValues: s.Options.BestEffortMinValues,
		AllocateDevices:     s.Options.AllocateDevices,
		MaxInstanceTypes:    s.Options.MaxInstanceTypes,
		DefaultSpread:       config.DefaultConstraints(),
	}
}
