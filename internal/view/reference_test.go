package view_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/view"
	"github.com/karpenter-anew/karpenter/test/referencepage"
)

var update = flag.Bool("update", false, "rewrite docs/reference/console.md")

// structures are the structs of views, in the order of the page.
func structures() []string {
	return []string{
		"Head", "Fleet", "Node", "Amounts", "Totals", "NodeDetail", "Pod", "Why", "Pending", "PendingGroup", "PlannedNode", "Moves", "Command", "Budgets",
		"Cost", "Priced", "Point", "Bound", "Saved", "WorkloadCost", "Pools", "Pool", "Condition", "Offering", "Timeline", "Gap", "Moment",
	}
}

// TestReference checks that the reference page is up to date, and has all structs.
func TestReference(t *testing.T) {
	found := definitions(t)
	var b strings.Builder
	b.WriteString("# Views of the console\n\n")
	b.WriteString("Generated from `internal/view` by `go test ./internal/view -update`; do not edit.\n\n")
	fmt.Fprintf(&b, "[The console](../console.md) serves these documents as JSON. This is version %s of the schema. Times are in RFC 3339. A field that is empty\n", view.Version)
	b.WriteString("is left out where *optional* is shown; lists are never null. Fields of a type in *italics* are those of that type, at the same level. Types of\n")
	b.WriteString("`explain` are described in [Explain](../explain.md), those of `ledger` in [Records of the ledger](ledger.md), and those of `simulated` in\n[Simulate](../simulate.md).\n")
	for _, name := range structures() {
		d, ok := found[name]
		if !ok {
			t.Fatalf("there is no struct %s", name)
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| Field | Type | Meaning |\n|---|---|---|\n", name, d.doc)
		for _, f := range d.fields {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", f.name, f.form, f.meaning)
		}
	}
	referencepage.Check(t, "../../docs/reference/console.md", b.String(), *update)
}

// TestAllStructuresAreDocumented: what a view can contain is on the page.
func TestAllStructuresAreDocumented(t *testing.T) {
	var visit func(of reflect.Type)
	visit = func(of reflect.Type) {
		switch of.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			visit(of.Elem())
		case reflect.Struct:
			if of.PkgPath() != reflect.TypeFor[view.Head]().PkgPath() {
				return
			}
			if !slices.Contains(structures(), of.Name()) {
				t.Errorf("%s is not on the page", of.Name())
			}
			for i := range of.NumField() {
				visit(of.Field(i).Type)
			}
		}
	}
	for _, of := range []any{view.Fleet{}, view.NodeDetail{}, view.Pending{}, view.Moves{}, view.Cost{}, view.Pools{}, view.Timeline{}} {
		visit(reflect.TypeOf(of))
	}
}

type definition struct {
	doc    string
	fields []field
}

type field struct{ name, form, meaning string }

// definitions are the structs of the package with their fields.
func definitions(t *testing.T) map[string]definition {
	t.Helper()
	out := map[string]definition{}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			d, ok := decl.(*ast.GenDecl)
			if !ok || d.Tok != token.TYPE {
				continue
			}
			spec := d.Specs[0].(*ast.TypeSpec)
			if s, ok := spec.Type.(*ast.StructType); ok && slices.Contains(structures(), spec.Name.Name) {
				out[spec.Name.Name] = definition{doc: sentence(spec.Name.Name, d.Doc.Text()), fields: fieldsOf(t, spec.Name.Name, s)}
			}
		}
	}
	return out
}

// fieldsOf are the rows of a struct. A comment that describes several fields in a row is shown at each of them.
func fieldsOf(t *testing.T, of string, s *ast.StructType) []field {
	t.Helper()
	var out []field
	doc := ""
	for _, f := range s.Fields.List {
		if f.Doc != nil {
			doc = strings.Join(strings.Fields(f.Doc.Text()), " ")
		}
		form := formOf(f.Type)
		if len(f.Names) == 0 {
			name := form
			if local, ok := f.Type.(*ast.Ident); ok {
				name = local.Name
			}
			out = append(out, field{"*" + name + "*", "", "those of " + form})
			continue
		}
		tag := reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json")
		name, rest, _ := strings.Cut(tag, ",")
		if name == "" {
			t.Errorf("%s.%s has no name in JSON", of, f.Names[0].Name)
		}
		if strings.HasPrefix(rest, "omit") {
			form += ", optional"
		}
		meaning := doc
		if f.Doc == nil && !strings.Contains(doc, f.Names[0].Name) {
			meaning = "" // the name says it
		}
		out = append(out, field{"`" + name + "`", form, meaning})
	}
	return out
}

// sentence is a comment without the name that it begins with.
func sentence(name, text string) string {
	text = strings.TrimPrefix(strings.Join(strings.Fields(text), " "), name+" ")
	for _, verb := range []string{"is ", "are "} {
		text = strings.TrimPrefix(text, verb)
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

func link(name string) string { return fmt.Sprintf("[%s](#%s)", name, strings.ToLower(name)) }

// formOf is a Go type in the words of JSON.
func formOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return formOf(e.X)
	case *ast.ArrayType:
		return "list of " + strings.TrimPrefix(formOf(e.Elt), "list of ")
	case *ast.MapType:
		return "object of " + formOf(e.Value)
	case *ast.SelectorExpr:
		switch e.Sel.Name {
		case "Time":
			return "time"
		case "Kind", "State":
			return "text"
		}
		return "`" + e.X.(*ast.Ident).Name + "." + e.Sel.Name + "`"
	case *ast.Ident:
		switch e.Name {
		case "string", "State", "CommandState":
			return "text"
		case "int", "int32", "int64", "uint64", "float64":
			return "number"
		case "bool":
			return "boolean"
		}
		return link(e.Name)
	}
	return "?"
}
