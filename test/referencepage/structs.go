package referencepage

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Structs is how the structs of a package are shown as JSON objects on a page. The package is that of the working directory, as tests have it.
type Structs struct {
	// Names are the structs, in the order of the page.
	Names []string
	// Texts are the types of the package, beside string, that are text in JSON.
	Texts []string
	// Selected is the form of a type of another package, beside time.Time; "" for the default, the name of the type as code.
	Selected func(pkg, name string) string
	// Commented is set where each field needs a comment. Otherwise a field without one has the comment above it where that names it.
	Commented bool
}

// Sections are the sections of the structs, with their fields as tables.
func (s Structs) Sections(t *testing.T) string {
	t.Helper()
	found := s.definitions(t)
	var b strings.Builder
	for _, name := range s.Names {
		d, ok := found[name]
		if !ok {
			t.Fatalf("there is no struct %s", name)
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| Field | Type | Meaning |\n|---|---|---|\n", name, d.doc)
		for _, f := range d.fields {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", f.name, f.form, f.meaning)
		}
	}
	return b.String()
}

// Covers checks that the structs of the package of a value are on the page, as far as the value can contain them.
func (s Structs) Covers(t *testing.T, of reflect.Type) {
	t.Helper()
	s.visit(t, of, of.PkgPath(), map[reflect.Type]bool{})
}

func (s Structs) visit(t *testing.T, of reflect.Type, pkg string, seen map[reflect.Type]bool) {
	t.Helper()
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		s.visit(t, of.Elem(), pkg, seen)
	case reflect.Struct:
		if of.PkgPath() != pkg || seen[of] {
			return
		}
		seen[of] = true
		if !slices.Contains(s.Names, of.Name()) {
			t.Errorf("%s is not on the page", of.Name())
		}
		for i := range of.NumField() {
			s.visit(t, of.Field(i).Type, pkg, seen)
		}
	}
}

type definition struct {
	doc    string
	fields []field
}

type field struct{ name, form, meaning string }

// definitions are the structs of the package with their fields.
func (s Structs) definitions(t *testing.T) map[string]definition {
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
			if fields, ok := spec.Type.(*ast.StructType); ok && slices.Contains(s.Names, spec.Name.Name) {
				out[spec.Name.Name] = definition{doc: sentence(spec.Name.Name, d.Doc.Text()), fields: s.fieldsOf(t, spec.Name.Name, fields)}
			}
		}
	}
	return out
}

// fieldsOf are the rows of a struct. A comment that describes several fields in a row is shown at each of them.
func (s Structs) fieldsOf(t *testing.T, of string, fields *ast.StructType) []field {
	t.Helper()
	var out []field
	doc := ""
	for _, f := range fields.Fields.List {
		if f.Doc != nil {
			doc = strings.Join(strings.Fields(f.Doc.Text()), " ")
		}
		form := s.formOf(f.Type)
		if len(f.Names) == 0 {
			name := form
			if local, ok := f.Type.(*ast.Ident); ok {
				name = local.Name
			}
			out = append(out, field{"*" + name + "*", "", "those of " + form})
			continue
		}
		name, rest, _ := strings.Cut(reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json"), ",")
		if name == "" || s.Commented && doc == "" {
			t.Errorf("%s.%s has no name in JSON, or no comment", of, f.Names[0].Name)
		}
		if strings.HasPrefix(rest, "omit") {
			form += ", optional"
		}
		meaning := doc
		if !s.Commented && f.Doc == nil && !strings.Contains(doc, f.Names[0].Name) {
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

// Link is a link to the section of a struct on the page.
func Link(name string) string { return fmt.Sprintf("[%s](#%s)", name, strings.ToLower(name)) }

// formOf is a Go type in the words of JSON.
func (s Structs) formOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return s.formOf(e.X)
	case *ast.ArrayType:
		return "list of " + strings.TrimPrefix(s.formOf(e.Elt), "list of ")
	case *ast.MapType:
		return "object of " + s.formOf(e.Value)
	case *ast.SelectorExpr:
		pkg := e.X.(*ast.Ident).Name
		if e.Sel.Name == "Time" {
			return "time"
		}
		if form := s.Selected(pkg, e.Sel.Name); form != "" {
			return form
		}
		return "`" + pkg + "." + e.Sel.Name + "`"
	case *ast.Ident:
		switch e.Name {
		case "string":
			return "text"
		case "int", "int32", "int64", "uint64", "float64":
			return "number"
		case "bool":
			return "boolean"
		}
		if slices.Contains(s.Texts, e.Name) {
			return "text"
		}
		return Link(e.Name)
	}
	return "?"
}
