package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/karpenter-anew/karpenter/test/commandtest"
	"github.com/karpenter-anew/karpenter/test/referencepage"
)

// compareWithPage checks that a generated page of the reference is up to date, or rewrites it.
func compareWithPage(t *testing.T, page, want string) {
	t.Helper()
	referencepage.Check(t, filepath.Join("../../docs/reference", page), want, *commandtest.Update)
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
