// Package referencepage generates pages of docs/reference from the structs of a package, and compares pages with what tests generate.
package referencepage

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Check fails the test if the page at this path is not the generated text. With update set, it writes the page first.
func Check(t *testing.T, path, generated string, update bool) {
	t.Helper()
	if update {
		if err := os.WriteFile(path, []byte(generated), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; run the test with -update to write it", err)
	}
	if diff := cmp.Diff(string(page), generated); diff != "" {
		t.Errorf("%s is stale; run the test with -update (-file +code):\n%s", path, diff)
	}
}
