package manifest

import (
	"errors"
	"fmt"
	"io"
	"os"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// Part is a part of a file between two separators, as it stands there, for programs that write manifests again.
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

// PartOf is a part that came from no file.
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

// Untabbed is the part with the spaces that were probably meant in place of the tabs for which it cannot be read; false
// when there are none. It serves to find out what else is wrong.
func (p Part) Untabbed() (Part, bool) {
	d, ok := p.untabbed()
	return Part{document: d, separator: p.separator}, ok
}

// Problem is an error at a field of the document; what names the object, an empty field means the document as a whole.
func (p Part) Problem(what, field, format string, args ...any) error {
	return p.problem(what, field, format, args...)
}

// Place is where a field stands.
func (p Part) Place(field string) string { return fmt.Sprintf("%s:%d", p.file, p.lineOf(field)) }

// Finding is something wrong with a field of an object.
type Finding struct {
	// Field is the path, such as spec.requirements[0].key; empty for the object as a whole.
	Field string
	// Message is the complaint.
	Message string
}

// Check judges an object of a kind that the definitions describe, as the API server would. The defaults are filled in,
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
	for _, f := range append(found, s.validate(content)...) {
		out = append(out, Finding{f.field, f.message})
	}
	return out
}
