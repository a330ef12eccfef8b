package manifest

import (
	"errors"
	"fmt"
	"io"
	"os"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// Part is the unchanged text of a file between two separators, for programs that rewrite manifests.
type Part struct {
	document
	separator []byte
}

// Parts cuts files, directories and, for "-", stdin into their parts, in the order of [Reader.ReadPaths]. The error lists
// every file that cannot be read.
func Parts(paths []string, stdin io.Reader) ([]Part, error) {
	var out []Part
	var errs []error
	take := func(name string, text []byte, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("reading %s: %w", name, err))
			return
		}
		out = append(out, parts(name, text)...)
	}
	for _, path := range paths {
		if path == Stdin {
			text, err := io.ReadAll(stdin)
			take("stdin", text, err)
			continue
		}
		files, err := filesOf(path)
		if err != nil {
			errs = append(errs, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			take(file, text, err)
		}
	}
	return out, errors.Join(errs...)
}

// PartOf returns a part that is not from a file.
func PartOf(name string, text []byte) Part {
	return Part{document: document{file: name, number: 1, line: 1, text: text}}
}

// Separator is the line before the part; empty at the beginning of a file.
func (p Part) Separator() []byte { return p.separator }

// Text is the part without its separator.
func (p Part) Text() []byte { return p.text }

// HasContent reports whether the part is a document, and not only space and comments.
func (p Part) HasContent() bool { return p.number > 0 }

// Content is the document as an object.
func (p Part) Content() (map[string]any, error) {
	raw, err := yaml.YAMLToJSONStrict(p.text)
	if err != nil {
		return nil, p.unreadable(err)
	}
	var content map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &content); err != nil || content == nil {
		return nil, p.problem("", "", "not an object: want apiVersion, kind and metadata")
	}
	return content, nil
}

// Untabbed returns the part with the tabs that prevent parsing replaced by the spaces that were probably intended; false
// when there are none. It is for finding other errors.
func (p Part) Untabbed() (Part, bool) {
	d, ok := p.untabbed()
	return Part{document: d, separator: p.separator}, ok
}

// Problem returns an error at a field of the document; what names the object, an empty field is the whole document.
func (p Part) Problem(what, field, format string, args ...any) error {
	return p.problem(what, field, format, args...)
}

// Place is the position of a field.
func (p Part) Place(field string) string { return fmt.Sprintf("%s:%d", p.file, p.lineOf(field)) }

// Finding is an error in a field of an object.
type Finding struct {
	// Field is the path, such as spec.requirements[0].key; empty for the object as a whole.
	Field string
	// Message is the error message.
	Message string
}

// Check validates an object of a kind that the definitions describe, as the API server would. It sets defaults
// in place. An object of another kind has no findings.
func (r *Reader) Check(content map[string]any) []Finding {
	gv, err := runtimeschema.ParseGroupVersion(text(content, "apiVersion"))
	if err != nil {
		return []Finding{{"apiVersion", err.Error()}}
	}
	s, ok := r.schemas[gv.WithKind(text(content, "kind")).String()]
	if !ok {
		return nil
	}
	found := append(quantities(content, "", false, true), s.unknown(content)...)
	s.complete(content)
	var out []Finding
	for _, f := range append(found, s.validate(content, nil)...) {
		out = append(out, Finding{f.field, f.message})
	}
	return out
}

// Object reads one object, as [Reader.Read] reads a document. It changes content. The object is nil for kinds that have no bearing on scheduling. name is
// what errors call the place it is from.
func (r *Reader) Object(name string, content map[string]any) (client.Object, error) {
	var m Manifest
	if err := r.object(&m, document{file: name, number: 1, line: 1}, content, ""); err != nil || len(m.Objects) == 0 {
		return nil, err
	}
	return m.Objects[0], nil
}
