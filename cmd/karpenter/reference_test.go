package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// compareWithPage checks that a generated page of the reference is up to date, or rewrites it.
func compareWithPage(t *testing.T, page, want string) {
	t.Helper()
	name := filepath.Join("../../docs/reference", page)
	if *update {
		if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatalf("%v; run the test with -update to write it", err)
	}
	if diff := cmp.Diff(string(got), want); diff != "" {
		t.Errorf("%s is stale; run the test with -update (-file +code):\n%s", name, diff)
	}
}

// readTable returns the lines of a file of testdata/reference without comments.
func readTable(t *testing.T, name string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata/reference", name))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	return out
}
