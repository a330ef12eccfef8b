package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"testing"
)

// TestTheCoreHasNoClock keeps time, randomness, files and goroutine plumbing out of the engine.
func TestTheCoreHasNoClock(t *testing.T) {
	banned := []string{"context", "math/rand", "math/rand/v2", "net", "net/http", "os", "os/exec", "log", "log/slog", "io/fs"}
	for pkg, imports := range moduleImports(t) {
		if !matches("internal/core/...", pkg) {
			continue
		}
		for _, path := range imports {
			if slices.Contains(banned, path) {
				t.Errorf("%s imports %q: time, randomness and the outside world are parameters of the core", pkg, path)
			}
		}
	}
}

// TestTheAPIServerInMemoryTakesSteps keeps randomness, I/O and goroutines out of all but its HTTP front: a simulation drives it step by step.
func TestTheAPIServerInMemoryTakesSteps(t *testing.T) {
	banned := []string{"crypto/rand", "math/rand", "math/rand/v2", "net", "os", "os/exec", "log", "log/slog", "k8s.io/apimachinery/pkg/util/rand", "k8s.io/apimachinery/pkg/util/uuid"}
	imports := moduleImports(t)
	for _, pkg := range []string{"store", "kind", "registry"} {
		pkg = "embedded/apiserver/" + pkg
		if imports[pkg] == nil {
			t.Errorf("%s is not there", pkg)
		}
		for _, path := range imports[pkg] {
			if slices.Contains(banned, path) {
				t.Errorf("%s imports %q: randomness and the outside world are parameters", pkg, path)
			}
		}
		files, err := filepath.Glob(filepath.Join("..", pkg, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if _, ok := n.(*ast.GoStmt); ok {
					t.Errorf("%s starts a goroutine", name)
				}
				return true
			})
		}
	}
}
