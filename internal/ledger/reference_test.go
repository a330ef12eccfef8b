package ledger_test

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

	"github.com/karpenter-anew/karpenter/internal/ledger"
	"github.com/karpenter-anew/karpenter/test/referencepage"
)

var update = flag.Bool("update", false, "rewrite docs/reference/ledger.md")

// structures are the structs of records, in the order of the page.
func structures() []string {
	return []string{
		"Record", "Start", "Fleet", "NodeClaimState", "Pass", "Cost", "Provisioning", "PlannedNodeClaim", "Placement", "Unschedulable",
		"PoolReason", "Names", "Disruption", "Command", "LeftAlone", "CommandEvent", "NodeObstacle", "NodeClaimEvent", "Saving", "PlanEvent", "Answer", "Coverage",
	}
}

// TestReference checks that the reference page is up to date, and has all structs.
func TestReference(t *testing.T) {
	found := definitions(t)
	var b strings.Builder
	b.WriteString("# Records of the ledger\n\n")
	b.WriteString("Generated from `internal/ledger` by `go test ./internal/ledger -update`; do not edit.\n\n")
	fmt.Fprintf(&b, "A record is a JSON object. This is version %d of the format. [The ledger](../ledger.md) says where records are and how to read them. A field\n", ledger.Version)
	b.WriteString("that is empty, or zero, is left out where *optional* is shown. Times are in RFC 3339. Fields of a type in *italics* are those of that type, at the\nsame level.\n")
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
	referencepage.Check(t, "../../docs/reference/ledger.md", b.String(), *update)
}

// TestAllStructuresAreDocumented: what a record can contain is on the page.
func TestAllStructuresAreDocumented(t *testing.T) {
	var visit func(of reflect.Type)
	visit = func(of reflect.Type) {
		switch of.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			visit(of.Elem())
		case reflect.Struct:
			if of.PkgPath() != reflect.TypeFor[ledger.Record]().PkgPath() {
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
	visit(reflect.TypeFor[ledger.Record]())
	visit(reflect.TypeFor[ledger.Answer]())
	of := reflect.TypeFor[ledger.Record]()
	for _, kind := range ledger.Kinds() {
		if !slices.ContainsFunc(reflect.VisibleFields(of), func(f reflect.StructField) bool {
			return strings.HasPrefix(f.Tag.Get("json"), string(kind)+",")
		}) {
			t.Errorf("records have no field for the kind %s", kind)
		}
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
			out = append(out, field{"*" + f.Type.(*ast.Ident).Name + "*", "", "those of " + form})
			continue
		}
		tag := reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json")
		name, rest, _ := strings.Cut(tag, ",")
		if name == "" || doc == "" {
			t.Errorf("%s.%s has no name in JSON, or no comment", of, f.Names[0].Name)
		}
		if strings.HasPrefix(rest, "omit") {
			form += ", optional"
		}
		out = append(out, field{"`" + name + "`", form, doc})
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
		case "RawMessage":
			return link("Record")
		}
		return "text"
	case *ast.Ident:
		switch e.Name {
		case "string", "Kind", "Phase", "Outcome", "SavingEvent", "SavingEnd":
			return "text"
		case "int", "uint64", "float64":
			return "number"
		case "bool":
			return "boolean"
		}
		return link(e.Name)
	}
	return "?"
}
