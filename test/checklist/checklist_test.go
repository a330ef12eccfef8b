package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// repository is a small repository: two checklists, tests of every kind, a scenario.
const repository = `
-- docs/reference/checklist/b.txt --
prefix B
2.1 Brewing
B001 a name of another list
-- docs/reference/checklist/a.txt --
# A comment.
prefix A

1.1 Apples
A001 by a test
A002 together with another
A003 by a subtest
1.2 Pears
A004 by a subtest and a fuzz target
A005 by a subtest of a subtest
A006 by a function that tests call
A007 by a scenario
A008 by nothing
A009 waived
-- docs/reference/checklist/waived.txt --
A009 because of that
-- test/scenario/testdata/a-scenario.txtar --
An expectation.
covers: A007, B001
@@ input.yaml @@
x
-- go.mod --
module example.com/m
-- p/p_test.go --
package p

func TestX(t *testing.T) {
	t.Attr("covers", "A001 A002")
	t.Run("sub "+name, func(t *testing.T) {
		t.Attr("covers", "A003 A004")
		t.Run("inner", func(t *testing.T) { t.Attr("covers", "A005") })
	})
}

func FuzzX(f *testing.F) {
	f.Attr("covers", "A004")
	f.Attr("area", "A008")
}

func check(t *testing.T) { t.Attr("covers", "A006") }
-- p/idle_test.go --
package p

func BenchmarkX(b *testing.B) { b.Attr("covers", "A008") }

func TestIdle(t *testing.T) { log("covers", "A008"); t.Run("A008 in a name", nil) }
-- p/other_test.go --
//go:build never

package p

func TestY(t *testing.T) { t.Attr("covers", "A008") }
-- p/testdata/x_test.go --
package x

func TestX(t *testing.T) { t.Attr("covers", "A008") }
-- nested/go.mod --
module example.com/nested
-- nested/n_test.go --
package n

func TestN(t *testing.T) { t.Attr("covers", "A008") }
`

// unpack writes the repository, with replacements, and returns its directory.
func unpack(t *testing.T, replace ...string) string {
	t.Helper()
	root := t.TempDir()
	text := strings.NewReplacer(replace...).Replace(repository)
	for _, f := range txtar.Parse([]byte(text)).Files {
		path := filepath.Join(root, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, bytes.ReplaceAll(f.Data, []byte("@@"), []byte("--")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestReport(t *testing.T) {
	var out bytes.Buffer
	complete, err := run(settings{root: unpack(t), modules: []string{"."}}, &out)
	if err != nil || complete {
		t.Fatalf("complete: %v, error: %v", complete, err)
	}
	want := `1.1 Apples
  A001 by a test
       p TestX
  A002 together with another
       p TestX
  A003 by a subtest
       p TestX/sub 

1.2 Pears
  A004 by a subtest and a fuzz target
       p TestX/sub 
       p FuzzX
  A005 by a subtest of a subtest
       p TestX/sub /inner
  A006 by a function that tests call
       p check
  A007 by a scenario
       scenario a-scenario
  A008 by nothing
       NOT COVERED
  A009 waived
       waived: because of that

2.1 Brewing
  B001 a name of another list
       scenario a-scenario

a                                            covered  waived missing
  1.1 Apples                                       3       0       0
  1.2 Pears                                        4       1       1
  all                                              7       1       1
b                                            covered  waived missing
  2.1 Brewing                                      1       0       0
  all                                              1       0       0
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	out.Reset()
	if _, err := run(settings{root: unpack(t), modules: []string{"."}, missing: true}, &out); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "1.2 Pears\n  A008 by nothing\n\na  "; !strings.HasPrefix(got, want) {
		t.Errorf("what is missing reads %q", got)
	}
}

func TestComplete(t *testing.T) {
	for name, c := range map[string]struct {
		replace  []string
		modules  []string
		complete bool
		says     string
	}{
		"a line without a claim":       {nil, []string{"."}, false, "NOT COVERED"},
		"claimed in another module":    {nil, []string{".", "nested"}, true, "nested TestN"},
		"waived":                       {[]string{"A009 because", "A008 later\nA009 because"}, []string{"."}, true, "waived: later"},
		"a claim of an unknown number": {[]string{`"A001 A002"`, `"A001 A002 A998"`}, []string{".", "nested"}, false, "claims A998, which no checklist has"},
		"waived and claimed":           {[]string{"A009 because", "A001 why\nA009 because"}, []string{".", "nested"}, false, "A001 is waived, but covered by p TestX"},
		"an unknown number waived":     {[]string{"A009 because", "A999 why\nA009 because"}, []string{".", "nested"}, false, "A999 is waived, but no checklist has it"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			complete, err := run(settings{root: unpack(t, c.replace...), modules: c.modules}, &out)
			if err != nil {
				t.Fatal(err)
			}
			if complete != c.complete || !strings.Contains(out.String(), c.says) {
				t.Errorf("complete is %v, want %v with %q in\n%s", complete, c.complete, c.says, out.String())
			}
		})
	}
}

func TestMalformedChecklistsAreRefused(t *testing.T) {
	for name, replace := range map[string][]string{
		"no prefix":               {"prefix A", ""},
		"a foreign number":        {"A002 together", "B002 together"},
		"out of order":            {"A002 together", "A004 together"},
		"no section":              {"1.1 Apples", ""},
		"the same prefix":         {"prefix B", "prefix A", "B001 a name", "A001 a name"},
		"a lower-case prefix":     {"prefix B", "prefix b"},
		"waived without a reason": {"A009 because of that", "A009"},
		"waived twice":            {"A009 because of that", "A009 x\nA009 y"},
		"Go that is broken":       {"func TestX(t *testing.T) {\n\tt.Attr", "func func(\n\tt.Attr"},
		"a number in a name":      {"func FuzzX(", "func FuzzX_A004("},
		"covers a variable":       {`"A001 A002"`, "lines"},
	} {
		if complete, err := run(settings{root: unpack(t, replace...), modules: []string{"."}}, &bytes.Buffer{}); err == nil {
			t.Errorf("%s: no error, complete %v", name, complete)
		}
	}
}

// TestTheChecklistsCanBeRead reads the repository's own, and refuses claims of lines that they do not have.
func TestTheChecklistsCanBeRead(t *testing.T) {
	root := filepath.Join("..", "..")
	lists, err := readLists(filepath.Join(root, "docs", "reference", "checklist"))
	if err != nil {
		t.Fatal(err)
	}
	waived, err := readWaived(filepath.Join(root, "docs", "reference", "checklist", waivedFile))
	if err != nil {
		t.Fatal(err)
	}
	claims, err := scenarioClaims(root)
	if err != nil {
		t.Fatal(err)
	}
	tests, err := testClaims(root, ".", numberInName(lists))
	if err != nil {
		t.Fatal(err)
	}
	if len(claims) == 0 || len(tests) == 0 {
		t.Errorf("%d claims of scenarios and %d of tests", len(claims), len(tests))
	}
	for _, m := range newReport(lists, waived, append(claims, tests...)).mistakes {
		t.Error(m)
	}
}
