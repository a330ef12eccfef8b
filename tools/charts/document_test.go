package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTableOfValues(t *testing.T) {
	chart := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(chart, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("values.yaml", "# A comment for readers.\n\n# -- First, in\n# two lines.\nfirst: {b: 1, a: [x, 'y']}\ngroup:\n  # -- Second: a | b.\n  second: \"\"\n  # -- Third.\n  third: null\n")
	write("README.md", "# Title\n<!-- values -->\nstale\n<!-- end of values -->\nThe end.\n")
	if err := document(chart); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(chart, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	want := "# Title\n<!-- values -->\n| Value | Default | Meaning |\n|---|---|---|\n" +
		"| `first` | `{\"b\":1,\"a\":[\"x\",\"y\"]}` | First, in two lines. |\n" +
		"| `group.second` | `\"\"` | Second: a \\| b. |\n| `group.third` | – | Third. |\n<!-- end of values -->\nThe end.\n"
	if string(got) != want {
		t.Errorf("the README is\n%s\nwant\n%s", got, want)
	}
}

func TestValueWithoutCommentIsRefused(t *testing.T) {
	_, err := read([]byte("group:\n  # A comment of another form.\n  bare: 1\n"))
	if err == nil || !strings.Contains(err.Error(), "group.bare") {
		t.Errorf("error %v, want one that names group.bare", err)
	}
}

func TestFoldersOfDefinitionsAreMadeAnew(t *testing.T) {
	crds, charts := t.TempDir(), t.TempDir()
	for _, dir := range []string{filepath.Join(crds, "aws"), filepath.Join(charts, "to")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{filepath.Join(crds, "aws/a.yaml"): "a", filepath.Join(charts, "to/gone.yaml"): "b"} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f := folder{[]string{"aws/*.yaml"}, "to"}
	if err := f.write(charts, crds); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(charts, "to/a.yaml")); err != nil || string(text) != "a" {
		t.Errorf("the copy is %q, %v", text, err)
	}
	if _, err := os.Stat(filepath.Join(charts, "to/gone.yaml")); !os.IsNotExist(err) {
		t.Errorf("a definition that is no more stays: %v", err)
	}
	f.from = []string{"azure/*.yaml"}
	if err := f.write(charts, crds); err == nil {
		t.Error("a pattern that matches nothing is accepted")
	}
}
