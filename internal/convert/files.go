package convert

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
	kyaml "sigs.k8s.io/yaml"

	"github.com/karpenter-anew/karpenter/internal/manifest"
)

// Files is the result of converting the documents of files.
type Files struct {
	documents []*document
	// Notes are those of all objects that were converted, each with file and line. YAML output has them as comments.
	Notes []string
	// LeftoverKeys are positions in objects that were not converted and still refer to an earlier API.
	LeftoverKeys []string
}

// document is one part of a file and its replacement.
type document struct {
	manifest.Part
	// pieces replace it; nil when it is unchanged.
	pieces []piece
}

// piece is a converted object, an unchanged object of a list that is split, or a comment.
type piece struct {
	converted *Converted
	unchanged *yaml.Node
	comment   string
}

// item is an object of a document, or of a list in it.
type item struct {
	document *document
	// prefix is the path in the document: empty, or items[0]. for the first of a list.
	prefix           string
	apiVersion, kind string
	root             *yaml.Node
	// handled reports whether it is converted.
	handled bool
}

func (i item) what() string {
	return strings.TrimSpace(i.kind + " " + textAt(child(i.root, "metadata"), "name"))
}

// Judge returns what validates objects that are or refer to a class of a kind, against the current definitions: clouds restrict the labels
// of NodePools differently.
type Judge func(ClassReference) (*manifest.Reader, error)

// ConvertFiles converts the objects of earlier APIs in files. All other text is unchanged. The error lists all problems with file,
// line and field; judge validates the result.
func ConvertFiles(parts []manifest.Part, s Settings, judge Judge) (Files, error) {
	var out Files
	var items []item
	var errs []error
	for _, part := range parts {
		d := &document{Part: part}
		out.documents = append(out.documents, d)
		if !part.HasContent() {
			continue
		}
		found, err := read(d)
		items, errs = append(items, found...), append(errs, err)
	}
	var objects []Object
	for _, i := range items {
		if i.handled {
			objects = append(objects, Object{i.root})
		}
	}
	results := Convert(objects, s)
	seen := map[string]bool{}
	for _, i := range items {
		if !i.handled {
			seen[i.apiVersion+" "+i.what()] = true
			out.LeftoverKeys = append(out.LeftoverKeys, i.leftoverKeys()...)
			if i.prefix != "" {
				i.document.pieces = append(i.document.pieces, piece{unchanged: i.root})
			}
			continue
		}
		r := results[0]
		results = results[1:]
		errs = append(errs, i.replace(&out, r, judge, seen)...)
	}
	return out, errors.Join(distinct(errs)...)
}

// distinct removes duplicates.
func distinct(errs []error) []error {
	said := map[string]bool{}
	var out []error
	for _, err := range errs {
		if err != nil && !said[err.Error()] {
			said[err.Error()] = true
			out = append(out, err)
		}
	}
	return out
}

// read finds the objects of a document.
func read(d *document) ([]item, error) {
	content, err := d.Content()
	if err != nil {
		repaired, ok := d.Untabbed()
		if !ok {
			return nil, err
		}
		// A document with an error is not converted; its other errors are reported all the same.
		d.Part = repaired
		var more error
		if content, more = d.Content(); more != nil {
			return nil, err
		}
	}
	root, unresolved := Parse(d.Text())
	if unresolved != nil {
		return nil, errors.Join(err, d.Problem("", "", "%w", unresolved))
	}
	one := item{document: d, root: root, apiVersion: textAt(root, "apiVersion"), kind: textAt(root, "kind")}
	if entries, ok := content["items"].([]any); ok && strings.HasSuffix(one.kind, "List") {
		found, wrong := d.list(entries, child(root, "items"))
		return found, errors.Join(err, wrong)
	}
	if missing := one.identified(); missing != nil {
		return nil, errors.Join(err, missing)
	}
	one.handled = Handles(one.apiVersion, one.kind)
	return []item{one}, err
}

// list finds the objects of a list. A list without objects of earlier APIs is unchanged.
func (d *document) list(entries []any, nodes *yaml.Node) ([]item, error) {
	var out []item
	var errs []error
	concerned := false
	for n := range entries {
		i := item{document: d, prefix: fmt.Sprintf("items[%d].", n), root: nodes.Content[n]}
		i.apiVersion, i.kind = textAt(i.root, "apiVersion"), textAt(i.root, "kind")
		if err := i.identified(); err != nil {
			errs = append(errs, err)
			continue
		}
		i.handled = Handles(i.apiVersion, i.kind)
		concerned = concerned || i.handled
		out = append(out, i)
	}
	if !concerned {
		for n := range out {
			out[n].prefix = ""
		}
	}
	return out, errors.Join(errs...)
}

// identified returns an error for an object without an apiVersion or a kind.
func (i item) identified() error {
	for _, field := range []string{"apiVersion", "kind"} {
		if textAt(i.root, field) == "" {
			return i.document.Problem("", i.prefix+field, "missing; every document needs apiVersion and kind")
		}
	}
	return nil
}

// replace puts the output in the place of an object, or reports why there is none.
func (i item) replace(out *Files, r Result, judge Judge, seen map[string]bool) []error {
	var errs []error
	for _, f := range r.Findings {
		errs = append(errs, i.document.Problem(i.what(), i.prefix+f.Field, "%s", f.Message))
	}
	if r.Unconverted != "" {
		i.document.pieces = append(i.document.pieces, piece{comment: i.commented(r.Unconverted)})
		out.Notes = append(out.Notes, i.document.Place(i.prefix+"kind")+": "+r.Unconverted)
	}
	for n := range r.Converted {
		made := &r.Converted[n]
		errs = append(errs, i.judge(*made, judge)...)
		id := made.APIVersion + " " + made.Kind + " " + made.Name
		if seen[id] {
			errs = append(errs, i.document.Problem(i.what(), "", "%s %s is there already; keep one of them", made.Kind, made.Name))
		}
		seen[id] = true
		i.document.pieces = append(i.document.pieces, piece{converted: made})
	}
	for _, note := range r.Notes {
		out.Notes = append(out.Notes, fmt.Sprintf("%s: %s: %s: %s", i.document.Place(i.prefix+note.Field), i.what(), note.Field, note.Text))
	}
	return errs
}

// judge validates an output object as the API server would. Errors are reported at the position that the field comes from.
func (i item) judge(made Converted, judge Judge) []error {
	content, err := made.content()
	if err != nil {
		return []error{i.document.Problem(i.what(), "", "%w", err)}
	}
	reader, err := judge(made.class)
	if err != nil {
		return []error{err}
	}
	var errs []error
	for _, f := range reader.Check(content) {
		if origin, ok := made.Origin(f.Field); ok {
			errs = append(errs, i.document.Problem(i.what(), i.prefix+origin, "%s", f.Message))
			continue
		}
		errs = append(errs, i.document.Problem(i.what(), "", "as %s: %s: %s", made.Kind, f.Field, f.Message))
	}
	return errs
}

// commented returns an object as a comment, below a sentence.
func (i item) commented(why string) string {
	text := i.document.Text()
	if i.prefix != "" {
		var b bytes.Buffer
		if encode(&b, i.root) == nil {
			text = b.Bytes()
		}
	}
	var b strings.Builder
	b.WriteString(wrap(why) + "\n")
	for line := range strings.Lines(string(text)) {
		b.WriteString(strings.TrimRight("# "+strings.TrimRight(line, "\r\n"), " ") + "\n")
	}
	return b.String()
}

// YAML writes the documents with notes as comments.
func (f Files) YAML(to io.Writer) error {
	var b bytes.Buffer
	for _, d := range f.documents {
		if b.Len() > 0 && b.Bytes()[b.Len()-1] != '\n' {
			b.WriteByte('\n')
		}
		separator := d.Separator()
		if b.Len() > 0 && len(separator) == 0 && len(d.Text()) > 0 {
			separator = []byte("---\n")
		}
		b.Write(separator)
		if d.pieces == nil {
			b.Write(d.Text())
			continue
		}
		for n, p := range d.pieces {
			if n > 0 {
				b.WriteString("---\n")
			}
			text, err := p.yaml()
			if err != nil {
				return err
			}
			b.Write(text)
		}
	}
	_, err := to.Write(b.Bytes())
	return err
}

func (p piece) yaml() ([]byte, error) {
	switch {
	case p.converted != nil:
		return p.converted.YAML()
	case p.unchanged != nil:
		var b bytes.Buffer
		err := encode(&b, p.unchanged)
		return b.Bytes(), err
	default:
		return []byte(p.comment), nil
	}
}

// JSON writes the objects as a list; JSON has no comments.
func (f Files) JSON(to io.Writer) error {
	items := []json.RawMessage{}
	add := func(text []byte) error {
		one, err := kyaml.YAMLToJSON(text)
		if err == nil && !bytes.Equal(one, []byte("null")) {
			items = append(items, one)
		}
		return err
	}
	for _, d := range f.documents {
		if d.pieces == nil && d.HasContent() {
			if err := f.same(d, add); err != nil {
				return err
			}
		}
		for _, p := range d.pieces {
			text, err := p.yaml()
			if err == nil {
				err = add(text)
			}
			if err != nil {
				return err
			}
		}
	}
	e := json.NewEncoder(to)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
}

// same adds an unchanged document; the objects of a list one by one, because lists do not nest.
func (Files) same(d *document, add func([]byte) error) error {
	root, err := Parse(d.Text())
	if err != nil {
		return err
	}
	if items := child(root, "items"); strings.HasSuffix(textAt(root, "kind"), "List") && items != nil && items.Kind == yaml.SequenceNode {
		for _, n := range items.Content {
			var b bytes.Buffer
			if err := errors.Join(encode(&b, n), add(b.Bytes())); err != nil {
				return err
			}
		}
		return nil
	}
	return add(d.Text())
}
