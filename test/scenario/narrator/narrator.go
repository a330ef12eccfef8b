// Package narrator has what it takes to tell a story to the engine: the objects that its files describe, the simulated cloud
// that its catalogue names, and its settings as those of a simulation. A test tells the story, and says what has to hold.
package narrator

import (
	"bytes"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/crds"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/kwok"
	"github.com/karpenter-anew/karpenter/internal/manifest"
	"github.com/karpenter-anew/karpenter/internal/options"
	"github.com/karpenter-anew/karpenter/internal/simulation"
	"github.com/karpenter-anew/karpenter/test/scenario/story"
)

// Reader reads what stories are written in: the kinds of Kubernetes, and ours with the simulated cloud's.
func Reader(t testing.TB) *manifest.Reader {
	t.Helper()
	definitions, err := crds.Kwok()
	if err != nil {
		t.Fatal(err)
	}
	reader, err := manifest.NewReader(definitions)
	if err != nil {
		t.Fatal(err)
	}
	return reader
}

// Clouds returns simulated clouds by the name of their catalogue, and opens each once. It is for one goroutine.
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

// Objects are those of a story's files, in their order; workloads are not unrolled into pods.
func Objects(t testing.TB, reader *manifest.Reader, s story.Story) []client.Object {
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

// Settings are those of a story.
func Settings(t testing.TB, s story.Story) simulation.Options {
	t.Helper()
	config, err := options.ParseSchedulerConfig(s.Options.SchedulerConfig)
	if err != nil {
		t.Fatal(err)
	}
	return simulation.Options{
		IgnorePreferences:   s.Options.IgnorePreferences,
		BestEffortMinValues: s.Options.BestEffortMinValues,
		AllocateDevices:     s.Options.AllocateDevices,
		MaxInstanceTypes:    s.Options.MaxInstanceTypes,
		DefaultSpread:       config.DefaultConstraints(),
	}
}
