package convert_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/karpenter-anew/karpenter/internal/convert"
)

func sorted(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

// FuzzFiles checks that converting any file returns an error or a text that does not change when it is converted again.
func FuzzFiles(f *testing.F) {
	cases, err := filepath.Glob("../command/convert/testdata/*.txtar")
	if err != nil || len(cases) == 0 {
		f.Fatalf("no cases to start from: %v", err)
	}
	for _, path := range cases {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			f.Add(string(file.Data))
		}
	}
	example, err := os.ReadFile("../../examples/convert/provisioner.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(example))
	f.Add("a: &a [*a]\napiVersion: karpenter.sh/v1alpha5\nkind: Provisioner")
	f.Add("apiVersion: karpenter.sh/v1alpha5\nkind: List\nitems: [{apiVersion: karpenter.sh/v1alpha5, kind: Machine, ? {a: b} : c}]")
	reader := judge(f)
	f.Fuzz(func(t *testing.T, text string) {
		files, err := convert.ConvertFiles(partsOf(t, text), settings(), always(reader))
		if err != nil {
			return
		}
		checkAgain(t, files, reader)
	})
}

// TestPartsAreTheFile checks that the parts between separators make up the whole file.
func TestPartsAreTheFile(t *testing.T) {
	const text = "# a\n---\n\n--- # b\nkind: A\napiVersion: v1\n---\n"
	var got []byte
	for _, p := range partsOf(t, text) {
		got = append(append(got, p.Separator()...), p.Text()...)
	}
	if string(got) != text {
		t.Errorf("got %q, want %q", got, text)
	}
}
