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

// claim is the claim of a test or scenario to cover a line.
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
	var out []claim
	for _, load := range []func(string) ([]scenariofile.Scenario, error){scenariofile.Load, scenariofile.LoadDisruption} {
		scenarios, err := load(dir)
		if err != nil {
			return nil, fmt.Errorf("reading scenarios: %w", err)
		}
		for _, s := range scenarios {
			for _, number := range s.Covers {
				out = append(out, claim{number, "scenario " + s.Name})
			}
		}
	}
	return out, nil
}

// testClaims are the claims of the test files that `go test ./...` in a module compiles here.
func testClaims(root, module string, inName *regexp.Regexp) ([]claim, error) {
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
			claims, err := fileClaims(filepath.ToSlash(pkg), file, inName)
			if err != nil {
				return err
			}
			out = append(out, claims...)
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

// fileClaims are the claims of one test file: t.Attr("covers", "L034 L035") anywhere but in benchmarks and examples. A call in the
// function literal of a subtest is a claim of that subtest.
func fileClaims(pkg string, file *ast.File, inName *regexp.Regexp) ([]claim, error) {
	var out []claim
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || strings.HasPrefix(f.Name.Name, "Benchmark") || strings.HasPrefix(f.Name.Name, "Example") {
			continue
		}
		where := pkg + " " + f.Name.Name
		if inName.MatchString(f.Name.Name) {
			return nil, fmt.Errorf("%s carries a number of a checklist in its name: write t.Attr(\"covers\", \"…\")", where)
		}
		claims, err := covers(where, f)
		if err != nil {
			return nil, err
		}
		out = append(out, claims...)
	}
	return out, nil
}

// covers are the claims in the calls of Attr below a node, which is the test or the subtest called where.
func covers(where string, node ast.Node) (out []claim, err error) {
	ast.Inspect(node, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 2 || err != nil {
			return true
		}
		switch method, _ := call.Fun.(*ast.SelectorExpr); {
		case method == nil:
		case method.Sel.Name == "Run" && call != node:
			var inner []claim
			inner, err = covers(where+"/"+leading(call.Args[0]), call)
			out = append(out, inner...)
			return false
		case method.Sel.Name == "Attr" && leading(call.Args[0]) == "covers":
			list := leading(call.Args[1])
			if list == "" {
				err = fmt.Errorf("%s: the numbers after \"covers\" are not a string literal", where)
			}
			for _, number := range strings.Fields(list) {
				out = append(out, claim{number, where})
			}
		}
		return true
	})
	return out, err
}

// leading is the string literal that an expression begins with.
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
