package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/karpenter-anew/karpenter/test/scenario/scenariofile"
)

// claim says that something covers a line.
type claim struct {
	number string
	// by is the scenario, or the package and the test.
	by string
}

// scenarioClaims are the claims of the scenarios.
func scenarioClaims(root string) ([]claim, error) {
	dir := filepath.Join(root, "test", "scenario", "testdata")
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	scenarios, err := scenariofile.Load(dir)
	if err != nil {
		return nil, fmt.Errorf("reading scenarios: %w", err)
	}
	var out []claim
	for _, s := range scenarios {
		for _, number := range s.Covers {
			out = append(out, claim{number, "scenario " + s.Name})
		}
	}
	return out, nil
}

// testClaims are the claims of the test files that `go test ./...` in a module compiles here.
func testClaims(root, module string, names pattern) ([]claim, error) {
	var out []claim
	base := filepath.Join(root, module)
	err := filepath.WalkDir(base, func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if dir != base && leftOut(dir) {
			return fs.SkipDir
		}
		files, err := testFiles(dir)
		if err != nil {
			return fmt.Errorf("looking for tests in %s: %w", dir, err)
		}
		pkg, err := filepath.Rel(root, dir)
		if err != nil {
			return err
		}
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			out = append(out, fileClaims(filepath.ToSlash(pkg), file, names)...)
		}
		return nil
	})
	return out, err
}

// leftOut reports whether `go test ./...` does not look into a directory.
func leftOut(dir string) bool {
	name := filepath.Base(dir)
	if name == "testdata" || name == "vendor" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return true
	}
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

// testFiles are the test files of a directory whose build constraints are met.
func testFiles(dir string) ([]string, error) {
	pkg, err := build.ImportDir(dir, 0)
	var none *build.NoGoError
	if errors.As(err, &none) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return append(pkg.TestGoFiles, pkg.XTestGoFiles...), nil
}

// runs are the names of functions that go test calls without being asked. What only a benchmark shows is not shown.
var runs = regexp.MustCompile(`^(Test|Fuzz)($|[^a-z])`)

// fileClaims are the claims of one test file: in the names of its test functions, and in the names of subtests and cases
// anywhere but in benchmarks and examples.
func fileClaims(pkg string, file *ast.File, names pattern) []claim {
	var out []claim
	for _, decl := range file.Decls {
		where := pkg
		if f, ok := decl.(*ast.FuncDecl); ok {
			where = pkg + " " + f.Name.Name
			switch {
			case f.Recv == nil && runs.MatchString(f.Name.Name):
				for _, number := range names.ofFunction(f.Name.Name) {
					out = append(out, claim{number, where})
				}
			case strings.HasPrefix(f.Name.Name, "Benchmark") || strings.HasPrefix(f.Name.Name, "Example"):
				continue
			}
		}
		ast.Inspect(decl, func(n ast.Node) bool {
			for _, e := range caseNames(n) {
				text := leading(e)
				for _, number := range names.ofCase(text) {
					out = append(out, claim{number, where + "/" + text})
				}
			}
			return true
		})
	}
	return out
}

// caseNames are the expressions that name a subtest or a case of a table: the first argument of t.Run, the keys of a map, and
// of a struct the field name, or the first one when fields are not named.
func caseNames(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.CallExpr:
		if f, ok := n.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Run" && len(n.Args) == 2 {
			return n.Args[:1]
		}
	case *ast.CompositeLit:
		_, array := n.Type.(*ast.ArrayType)
		var out []ast.Expr
		for i, e := range n.Elts {
			pair, keyed := e.(*ast.KeyValueExpr)
			switch {
			case !keyed && i == 0 && !array:
				out = append(out, e)
			case !keyed:
			case isName(pair.Key):
				out = append(out, pair.Value)
			default:
				out = append(out, pair.Key)
			}
		}
		return out
	}
	return nil
}

func isName(e ast.Expr) bool {
	ident, ok := e.(*ast.Ident)
	return ok && strings.EqualFold(ident.Name, "name")
}

// leading is the text that an expression is known to begin with.
func leading(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return leading(e.X)
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			return text
		}
	}
	return ""
}
