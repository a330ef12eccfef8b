package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// composed are the types that make up the input of the engine. Only internal/problem composes values of them, and the core:
// an input that is put together elsewhere leaves out what the others come to consider.
var composed = map[string][]string{
	"internal/core/solve":   {"Problem", "Options"},
	"internal/core/disrupt": {"SimulationInput", "QualifyInput"},
}

// TestOnlyOnePackageBuildsProblems looks at composite literals with fields, in the nested modules too. Tests may compose what
// they like.
func TestOnlyOnePackageBuildsProblems(t *testing.T) {
	root := ".."
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		rel, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(rel)
		if pkg == "internal/problem" || matches("internal/core/...", pkg) {
			return nil
		}
		for _, what := range composedIn(t, path) {
			t.Errorf("%s: only internal/problem composes a %s", path, what)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestComposedLiteralsAreFound: the check sees through the name of an import.
func TestComposedLiteralsAreFound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.go")
	source := "package x\n\nimport engine \"" + module + "internal/core/solve\"\n\n" +
		"var none, some = engine.Problem{}, engine.Problem{Options: engine.Options{Stop: nil}}\n"
	if err := os.WriteFile(path, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := composedIn(t, path); !slices.Equal(got, []string{"solve.Problem", "solve.Options"}) {
		t.Errorf("found %v", got)
	}
}

// composedIn are the types of composed that a file has literals of.
func composedIn(t *testing.T, path string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	packages := map[string]string{} // of the engine, by the name that the file gives them
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		pkg := strings.TrimPrefix(imported, module)
		if composed[pkg] == nil {
			continue
		}
		name := filepath.Base(pkg)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		packages[name] = pkg
	}
	var out []string
	if len(packages) == 0 {
		return nil
	}
	ast.Inspect(file, func(n ast.Node) bool {
		literal, ok := n.(*ast.CompositeLit)
		if !ok || len(literal.Elts) == 0 {
			return true
		}
		if selector, ok := literal.Type.(*ast.SelectorExpr); ok {
			if name, ok := selector.X.(*ast.Ident); ok && slices.Contains(composed[packages[name.Name]], selector.Sel.Name) {
				out = append(out, filepath.Base(packages[name.Name])+"."+selector.Sel.Name)
			}
		}
		return true
	})
	return out
}
