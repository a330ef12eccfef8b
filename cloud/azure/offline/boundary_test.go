package offline

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"
)

// TestOnlySimulationsUseThis holds derived hardware back from real clusters: one file imports this package, and no exported name of it hands
// out a SKU.
func TestOnlySimulationsUseThis(t *testing.T) {
	const imported = `"github.com/karpenter-anew/karpenter/cloud/azure/offline"`
	root := os.DirFS("../../..")
	var users []string
	files := token.NewFileSet()
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (strings.HasPrefix(d.Name(), ".") && name != "." || d.Name() == "testdata" || d.Name() == "node_modules") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(files, name, text, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, i := range parsed.Imports {
			if i.Path.Value == imported {
				users = append(users, name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(users) != 1 || users[0] != "cloud/azure/simulation.go" {
		t.Errorf("%v use %s; only cloud/azure/simulation.go may", users, imported)
	}
	exported := 0
	for _, name := range []string{"offline.go", "describe.go", "hardware.go", "prices.go"} {
		parsed, err := parser.ParseFile(files, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			f, ok := n.(*ast.FuncDecl)
			if !ok || !f.Name.IsExported() {
				return true
			}
			exported++
			if f.Type.Results != nil && mentions(f.Type.Results, "sku") {
				t.Errorf("%s: %s returns a SKU", path.Base(name), f.Name)
			}
			return true
		})
		ast.Inspect(parsed, func(n ast.Node) bool {
			if s, ok := n.(*ast.Field); ok && len(s.Names) > 0 && s.Names[0].IsExported() && mentions(s.Type, "sku") {
				t.Errorf("%s: field %s is a SKU", name, s.Names[0])
			}
			return true
		})
	}
	if exported < 5 {
		t.Errorf("found only %d exported functions", exported)
	}
}

// mentions reports whether a type is from a package.
func mentions(n ast.Node, pkg string) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == pkg {
				found = true
			}
		}
		return !found
	})
	return found
}
