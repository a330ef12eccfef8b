package logfield_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/karpenter-anew/karpenter/test/referencepage"
)

var update = flag.Bool("update", false, "rewrite docs/reference/logs.md")

// TestReference checks that the reference page is up to date, and that no two functions make the same field.
func TestReference(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Log fields\n\n")
	b.WriteString("Generated from `internal/observe/logfield` by `go test ./internal/observe/logfield -update`; do not edit.\n\n")
	b.WriteString("A log line is a JSON object. It begins with `level`, `time`, `logger`, `message` and `commit`; with `--log-level=debug`, `caller` follows\n")
	b.WriteString("`logger`. Lines of a reconcile have `controller`, `controllerGroup`, `controllerKind`, `name`, `namespace`, `reconcileID`, and the object\n")
	b.WriteString("under the name of its kind. A field has the same type in all lines, and appears once in a line. The type *object* without further\n")
	b.WriteString("description is `{\"name\": …}`, or `{\"name\": …, \"namespace\": …}` for an object in a namespace.\n")
	table(&b, "Fields", fields(t, "."))
	for _, folder := range providerFolders(t) {
		table(&b, "Fields of "+providerName(folder), fields(t, folder))
	}
	referencepage.Check(t, "../../../docs/reference/logs.md", b.String(), *update)
}

func TestFieldsAreDefinedOnce(t *testing.T) {
	defined := map[string]string{}
	for _, folder := range append(providerFolders(t), ".") {
		for key := range fields(t, folder) {
			if other, ok := defined[key]; ok {
				t.Errorf("%s and %s define the field %q", other, folder, key)
			}
			defined[key] = folder
		}
	}
}

// providerFolders are the packages with the fields of a single provider.
func providerFolders(t *testing.T) []string {
	t.Helper()
	folders, err := filepath.Glob("../../../cloud/*/*field")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no folder has the fields of a provider: %v", err)
	}
	return folders
}

// providerName is the name of a provider in prose, given the folder of its fields: "aws" is an abbreviation, longer ones are words.
func providerName(folder string) string {
	name := filepath.Base(filepath.Dir(folder))
	if len(name) > len("aws") {
		return strings.ToUpper(name[:1]) + name[1:]
	}
	return strings.ToUpper(name)
}

func table(b *strings.Builder, title string, rows map[string]field) {
	fmt.Fprintf(b, "\n## %s\n\n| Field | Type | Meaning |\n|---|---|---|\n", title)
	names := slices.SortedFunc(maps.Keys(rows), func(a, b string) int {
		if order := strings.Compare(strings.ToLower(a), strings.ToLower(b)); order != 0 {
			return order
		}
		return strings.Compare(a, b)
	})
	for _, name := range names {
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", name, rows[name].form, rows[name].meaning)
	}
}

// field is a row of the page.
type field struct{ form, meaning string }

// fields are those that the exported functions of a package make.
func fields(t *testing.T, folder string) map[string]field {
	t.Helper()
	out := map[string]field{}
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !f.Name.IsExported() || strings.HasSuffix(name, "_test.go") {
				continue
			}
			call := f.Body.List[0].(*ast.ReturnStmt).Results[0].(*ast.CallExpr)
			key, ok := call.Args[0].(*ast.BasicLit)
			if !ok {
				continue // it makes the fields of a provider
			}
			text, err := strconv.Unquote(key.Value)
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := out[text]; ok {
				t.Errorf("%s: two functions make the field %q", folder, text)
			}
			meaning := strings.TrimPrefix(strings.Join(strings.Fields(strings.TrimPrefix(f.Doc.Text(), f.Name.Name+" ")), " "), "is ")
			out[text] = field{formOf(t, call, f.Type.Params.List[0].Type), strings.ToUpper(meaning[:1]) + meaning[1:]}
		}
	}
	return out
}

// formOf is the type of a field in JSON, from the function that makes it.
func formOf(t *testing.T, call *ast.CallExpr, parameter ast.Expr) string {
	t.Helper()
	name := ""
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		name = f.Sel.Name
	case *ast.Ident:
		name = f.Name
	}
	_, isList := parameter.(*ast.ArrayType)
	switch {
	case name == "String", name == "Time", name == "failure":
		return "text"
	case name == "Int", name == "Int64", name == "Float64":
		return "number"
	case name == "Bool":
		return "boolean"
	case name == "object", name == "Object", name == "quantities":
		return "object"
	case name == "texts", name == "Texts", name == "Any" && isList:
		return "list"
	default:
		t.Fatalf("the type of a field made by %s is not known", name)
		return ""
	}
}
