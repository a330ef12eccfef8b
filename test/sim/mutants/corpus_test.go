package main

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/karpenter-anew/karpenter/test/sim"
)

// root is the repository.
const root = "../../.."

// TestCorpus: every mutant still applies to the source, its settings exist, and all mutants compile.
func TestCorpus(t *testing.T) {
	all, err := read("testdata")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 60 {
		t.Errorf("there are %d mutants, want 60 or more", len(all))
	}
	packages, names := map[string]bool{}, map[string]bool{}
	for _, m := range all {
		if names[m.name] {
			t.Errorf("two mutants are named %s", m.name)
		}
		if err := sim.Set(m.set, &sim.Faults{}, &sim.Scene{}); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
		names[m.name], packages["./"+filepath.Dir(m.file)] = true, true
	}
	if err := build(root, t.TempDir(), all, "build", slices.Sorted(maps.Keys(packages))...); err != nil {
		t.Fatal(err)
	}
}
