package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The ratchets hold the shape where it is. A limit is today's value: lower it when a change makes the value smaller, and never
// raise it without moving code instead. A package counts without its tests.
const (
	// maxChain is the number of packages of this module on the longest path of imports, both ends included. The packages in
	// the internal folder of another one are part of it: nothing else can import them.
	maxChain = 13
	// maxFanOut is how many packages of this module one package may import.
	maxFanOut = 26
	// maxExported is how many names a package may export: types, functions, variables and constants; methods and generated
	// files do not count.
	maxExported = 112
	// maxMethods is how many methods a type may have. The AWS of tests is left out: its methods are operations of AWS.
	maxMethods = 40
)

func TestImportChainsStayShort(t *testing.T) {
	imports := moduleImports(t)
	longest := map[string][]string{}
	length := func(chain []string) int {
		n := 0
		for _, pkg := range chain {
			if !strings.Contains(strings.TrimPrefix(pkg, "internal/"), "/internal/") {
				n++
			}
		}
		return n
	}
	var chain func(pkg string) []string
	chain = func(pkg string) []string {
		if known, ok := longest[pkg]; ok {
			return known
		}
		var below []string
		for _, path := range imports[pkg] {
			if own, ok := strings.CutPrefix(path, module); ok {
				if c := chain(own); length(c) > length(below) {
					below = c
				}
			}
		}
		longest[pkg] = append([]string{pkg}, below...)
		return longest[pkg]
	}
	var worst []string
	for _, pkg := range slices.Sorted(maps.Keys(imports)) {
		if c := chain(pkg); length(c) > length(worst) {
			worst = c
		}
	}
	ratchet(t, "the longest chain of imports", length(worst), maxChain, strings.Join(worst, " > "))
}

func TestPackagesImportFewOthers(t *testing.T) {
	worst, most := "", 0
	for pkg, imports := range moduleImports(t) {
		own := slices.DeleteFunc(slices.Clone(imports), func(path string) bool { return !strings.HasPrefix(path, module) })
		if len(own) > most || len(own) == most && pkg < worst {
			worst, most = pkg, len(own)
		}
	}
	ratchet(t, "the largest fan-out", most, maxFanOut, worst)
}

func TestPackagesExportFewNames(t *testing.T) {
	worst, most := "", 0
	for pkg, names := range declarations(t, func(d ast.Decl) []string {
		var names []string
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.IsExported() {
				names = append(names, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					if spec.Name.IsExported() {
						names = append(names, spec.Name.Name)
					}
				case *ast.ValueSpec:
					for _, id := range spec.Names {
						if id.IsExported() {
							names = append(names, id.Name)
						}
					}
				}
			}
		}
		return names
	}) {
		if len(names) > most || len(names) == most && pkg < worst {
			worst, most = pkg, len(names)
		}
	}
	ratchet(t, "the most exported names of a package", most, maxExported, worst)
}

func TestTypesHaveFewMethods(t *testing.T) {
	worst, most := "", 0
	for pkg, receivers := range declarations(t, func(d ast.Decl) []string {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Recv == nil {
			return nil
		}
		return []string{receiver(fn.Recv.List[0].Type)}
	}) {
		count := map[string]int{}
		for _, name := range receivers {
			count[name]++
			if full := pkg + "." + name; count[name] > most || count[name] == most && full < worst {
				worst, most = full, count[name]
			}
		}
	}
	ratchet(t, "the most methods of a type", most, maxMethods, worst)
}

// receiver is the name of the type that a method belongs to.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

func ratchet(t *testing.T, what string, got, limit int, where string) {
	t.Helper()
	if got > limit {
		t.Errorf("%s is %d, the limit is %d: %s", what, got, limit, where)
	}
	if got < limit {
		t.Logf("%s is %d: lower the limit from %d, so that it stays there", what, got, limit)
	}
}

// declarations collects what names says of the top-level declarations of every package of the product: those of layers 0 to 7,
// without tests and generated files.
func declarations(t *testing.T, names func(ast.Decl) []string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, top := range []string{"api", "cloud", "cmd", "internal"} {
		err := filepath.WalkDir(filepath.Join("..", top), func(path string, d fs.DirEntry, err error) error {
			if d != nil && d.IsDir() && (d.Name() == "awstest" || d.Name() == "azuretest") {
				return fs.SkipDir
			}
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil || ast.IsGenerated(file) {
				return err
			}
			pkg, err := filepath.Rel("..", filepath.Dir(path))
			if err != nil {
				return err
			}
			for _, decl := range file.Decls {
				out[filepath.ToSlash(pkg)] = append(out[filepath.ToSlash(pkg)], names(decl)...)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}
