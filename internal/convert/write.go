package convert

import (
	"bytes"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// indent is the indentation of each level, in spaces.
const indent = 2

// encode writes a tree as YAML.
func encode(to io.Writer, n *yaml.Node) error {
	e := yaml.NewEncoder(to)
	e.SetIndent(indent)
	if err := e.Encode(n); err != nil {
		return err
	}
	return e.Close()
}

// YAML is the object as text, with notes as comments.
func (m Converted) YAML() ([]byte, error) {
	var b bytes.Buffer
	err := encode(&b, m.Root)
	return b.Bytes(), err
}

// Origin returns the position in the source object that a field of the object comes from, and whether there is one. Where the field
// itself does not, it is that of the nearest field around it that does.
func (m Converted) Origin(field string) (string, bool) {
	at, found, ok := m.Root, "", false
	for _, step := range steps(field) {
		if at = step.of(at); at == nil {
			break
		}
		if place, known := m.origins[at]; known {
			found, ok = place, true
		}
	}
	return found, ok
}

// step is one part of a path: a field, or an element of a list.
type step struct {
	name  string
	index int
}

// steps cuts a path at dots and brackets.
func steps(path string) []step {
	var out []step
	for path != "" {
		var one string
		if path[0] == '[' {
			one, path, _ = strings.Cut(path[1:], "]")
		} else {
			end := strings.IndexAny(path, ".[")
			if end < 0 {
				end = len(path)
			}
			one, path = path[:end], path[end:]
		}
		path = strings.TrimPrefix(path, ".")
		out = append(out, step{one, number(one)})
	}
	return out
}

// number is the index that a text is, or -1.
func number(text string) int {
	n := 0
	for _, r := range text {
		if r < '0' || r > '9' || n > 1<<20 {
			return -1
		}
		n = 10*n + int(r-'0')
	}
	return n
}

// of is the node below another; nil when there is none.
func (s step) of(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.SequenceNode {
		if s.index >= 0 && s.index < len(n.Content) {
			return n.Content[s.index]
		}
		return nil
	}
	return child(n, s.name)
}

// plain gives a tree that was written as JSON the form of YAML: a field a line, quotes only where they are needed.
func plain(n *yaml.Node) {
	switch {
	case n.Kind == yaml.ScalarNode && n.Tag == "!!str":
		n.Style = scalar(n.Value).Style
	default:
		n.Style = 0
	}
	for _, inner := range n.Content {
		plain(inner)
	}
}
