package internal_test

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestEveryLongLivedCollectionHasABound compares the maps, lists, queues and caches that may live longer than a pass with testdata/bounds.txt, which
// says for each which row of docs/reference/limits.md bounds it. What lives long is what several goroutines use: fields beside a lock, caches with
// an expiry, and the parts of the cluster state, which share a lock.
func TestEveryLongLivedCollectionHasABound(t *testing.T) {
	rows, listed := readBounds(t)
	page, err := os.ReadFile("../docs/reference/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, row := range rows {
		if !strings.Contains(string(page), "\n| "+row+" |") {
			t.Errorf("docs/reference/limits.md has no row %q for the collections that are marked %q", row, name)
		}
	}
	found := map[string]bool{}
	for _, folder := range []string{"../internal", "../cloud"} {
		for _, field := range collections(t, folder) {
			found[field] = true
			if listed[field] == "" {
				t.Errorf("%s may live longer than a pass: add it to testdata/bounds.txt with what bounds it", field)
			}
		}
	}
	for field, by := range listed {
		if !found[field] {
			t.Errorf("testdata/bounds.txt has %s, which is not there any more", field)
		}
		if rows[by] == "" {
			t.Errorf("testdata/bounds.txt: %s is bounded by %q, which is none of the rows", field, by)
		}
	}
}

// readBounds reads the rows by name, and the name of the row of each collection.
func readBounds(t *testing.T) (rows, listed map[string]string) {
	t.Helper()
	text, err := os.ReadFile("testdata/bounds.txt")
	if err != nil {
		t.Fatal(err)
	}
	rows, listed = map[string]string{}, map[string]string{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if name, row, is := strings.Cut(line, " = "); is {
			rows[name] = row
		} else if at := strings.LastIndex(line, " "); at > 0 && !strings.HasPrefix(line, "#") {
			listed[line[:at]] = line[at+1:]
		}
	}
	return rows, listed
}

// forTestsOnly are folders of local clouds, clusters for tests and programs that are no controller.
func forTestsOnly() []string {
	return []string{"testdata", "awstest", "azuretest", "cloudtest", "fakecluster", "demo", "command", "simulation", "forecast", "shadow", "ttlcache"}
}

// collections are the fields, as "folder Type.field".
func collections(t *testing.T, folder string) []string {
	t.Helper()
	structs := map[string]map[string]*ast.StructType{} // by folder and name
	named := map[string]map[string]string{}            // what other types are declared as, likewise
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains(forTestsOnly(), entry.Name()):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		in := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../")
		if structs[in] == nil {
			structs[in], named[in] = map[string]*ast.StructType{}, map[string]string{}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if fields, ok := spec.Type.(*ast.StructType); ok {
					structs[in][spec.Name.Name] = fields
				} else {
					named[in][spec.Name.Name] = types.ExprString(spec.Type)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for in, all := range structs {
		for name, fields := range all {
			out = append(out, longLived(in, name, fields, named[in])...)
		}
	}
	return out
}

// longLived are the collections of a struct that may live longer than a pass. named is what the other types of its folder are declared as.
func longLived(in, name string, of *ast.StructType, named map[string]string) []string {
	locked := slices.ContainsFunc(of.Fields.List, func(f *ast.Field) bool {
		text := types.ExprString(f.Type)
		return strings.HasPrefix(text, "sync.") || strings.HasPrefix(text, "atomic.")
	})
	var out []string
	for _, f := range of.Fields.List {
		text := types.ExprString(f.Type)
		text = cmp.Or(named[text], text)
		holds := strings.HasPrefix(text, "map[") || strings.HasPrefix(text, "[]") || strings.HasPrefix(text, "chan ") || strings.Contains(text, "sweptMap")
		shared := locked || in == "internal/cluster" && strings.HasPrefix(text, "map[")
		if (!holds || !shared) && !strings.HasPrefix(text, "*ttlcache.Cache[") {
			continue
		}
		for _, field := range f.Names {
			out = append(out, in+" "+name+"."+field.Name)
		}
	}
	return out
}
