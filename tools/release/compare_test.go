package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestBuildsInTwoFoldersAreCompared has a program whose builds are the same, and one that cannot be built.
func TestBuildsInTwoFoldersAreCompared(t *testing.T) {
	repository := newRepository(t)
	if err := (&compareCommand{Root: repository, Version: version}).Run(t.Context()); err != nil {
		t.Error(err)
	}
	write(t, filepath.Join(repository, "cmd", product, "broken.go"), "package main\n\nvar _ = undefined\n")
	git(t, repository, "add", ".")
	git(t, repository, "commit", "--quiet", "--message=two")
	if err := (&compareCommand{Root: repository, Version: version}).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "undefined") {
		t.Errorf("a program that cannot be built: %v", err)
	}
	for want, pair := range map[string][2]string{" from byte 1 on": {"abc", "axc"}, " in length (2 and 3 bytes)": {"ab", "abc"}} {
		if got := firstDifference([]byte(pair[0]), []byte(pair[1])); got != want {
			t.Errorf("%q: %q, want %q", pair, got, want)
		}
	}
}
