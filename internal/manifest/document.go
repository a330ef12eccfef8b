package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// document is one YAML document with its position.
type document struct {
	file   string
	number int // from 1, counting documents with content
	line   int // of its first line in the file, from 1
	text   []byte
}

// split cuts a stream into its documents and drops those that are empty or only comment.
func split(file string, text []byte) []document {
	var out []document
	for _, part := range parts(file, text) {
		if part.number > 0 {
			out = append(out, part.document)
		}
	}
	return out
}

// parts cuts a stream at its separators. The parts joined are the stream. Those that are empty or only
// comment have no number.
func parts(file string, text []byte) []Part {
	var out []Part
	number, line := 0, 0
	current, body := Part{document: document{file: file, line: 1}}, bytes.Buffer{}
	flush := func() {
		current.text = bytes.Clone(body.Bytes())
		if hasContent(current.text) {
			number++
			current.number = number
		}
		out = append(out, current)
		body.Reset()
	}
	for l := range bytes.Lines(text) {
		line++
		if separates(l) {
			flush()
			current = Part{document: document{file: file, line: line + 1}, separator: bytes.Clone(l)}
			continue
		}
		body.Write(l)
	}
	flush()
	return out
}

// separates reports whether a line ends a document: three dashes, then only space or a comment.
func separates(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte("---"))
	rest = bytes.TrimSpace(rest)
	return ok && (len(rest) == 0 || rest[0] == '#')
}

// hasContent reports whether a document contains more than space, comments and a null, which templates leave behind.
func hasContent(text []byte) bool {
	for line := range bytes.Lines(text) {
		switch trimmed := bytes.TrimSpace(line); {
		case len(trimmed) == 0, trimmed[0] == '#', string(trimmed) == "null":
		default:
			return true
		}
	}
	return false
}

// problem is an error at a field of the document; an empty field means the document as a whole.
func (d document) problem(what, field, format string, args ...any) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d (document %d): ", d.file, d.lineOf(field), d.number)
	for _, part := range []string{what, field} {
		if part != "" {
			b.WriteString(part + ": ")
		}
	}
	return fmt.Errorf("%s%w", b.String(), fmt.Errorf(format, args...))
}

// unreadable is the error for text that is not YAML. The parser counts lines from the start of the document.
func (d document) unreadable(err error) error {
	if tab, ok := d.tab(); ok {
		return fmt.Errorf("%s:%d (document %d): not YAML: %s", d.file, d.line+tab.line, d.number, tab)
	}
	message := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "error converting YAML to JSON: "), "yaml: ")
	var errs []error
	for one := range strings.Lines(strings.TrimPrefix(message, "unmarshal errors:\n")) {
		one, line := strings.TrimSpace(one), d.line
		if m := regexp.MustCompile(`^line (\d+): `).FindStringSubmatch(one); m != nil {
			if n, err := strconv.Atoi(m[1]); err == nil {
				line += n - 1
				one = one[len(m[0]):]
			}
		}
		errs = append(errs, fmt.Errorf("%s:%d (document %d): not YAML: %s", d.file, line, d.number, one))
	}
	return errors.Join(errs...)
}

// lineOf returns the line of a field such as spec.containers[0].image, or of its nearest existing parent.
func (d document) lineOf(field string) int {
	var root yaml.Node
	if field == "" || yaml.Unmarshal(d.text, &root) != nil || len(root.Content) == 0 {
		return d.firstLine()
	}
	at := root.Content[0]
	line := 0
	for _, step := range steps(field) {
		next, found := child(at, step)
		if next == nil {
			break
		}
		at, line = next, found
	}
	if line == 0 {
		return d.firstLine()
	}
	return d.line + line - 1
}

// firstLine returns the first line with content.
func (d document) firstLine() int {
	n := d.line
	for line := range bytes.Lines(d.text) {
		if hasContent(line) {
			break
		}
		n++
	}
	return n
}

// steps cuts a field path at dots and brackets: a.b[0].c[x.y/z] is a, b, 0, c, x.y/z.
func steps(field string) []string {
	var out []string
	for len(field) > 0 {
		var step string
		switch i := strings.IndexAny(field, ".["); {
		case field[0] == '[':
			step, field, _ = strings.Cut(field[1:], "]")
			field = strings.TrimPrefix(field, ".")
		case i < 0:
			step, field = field, ""
		default:
			step, field = field[:i], strings.TrimPrefix(field[i:], ".")
		}
		out = append(out, strings.Trim(step, `"`))
	}
	return out
}

func child(n *yaml.Node, step string) (next *yaml.Node, line int) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == step {
				return n.Content[i+1], n.Content[i].Line
			}
		}
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(n.Content) {
			return n.Content[i], n.Content[i].Line
		}
	}
	return nil, 0
}
