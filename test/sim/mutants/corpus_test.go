package main

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"
)

// root is the repository.
const root = "../../.."

// TestCorpus: every mutant still applies to the source, and all of them compile.
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
		names[m.name], packages["./"+filepath.Dir(m.file)] = true, true
	}
	if err := build(root, t.TempDir(), all, "build", slices.Sorted(maps.Keys(packages))...); err != nil {
		t.Fatal(err)
	}
}
