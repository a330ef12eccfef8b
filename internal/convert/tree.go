package convert

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// value is a node of a source object with its position; the zero value is a field that does not exist.
type value struct {
	c *conversion
	// key is the node of the field's name; nil for elements of lists.
	key, node *yaml.Node
	path      string
}

// present reports whether the field has a value other than null.
func (v value) present() bool { return v.node != nil && v.node.Tag != "!!null" }

// fields is a mapping that is being read. Each field that is not read is a finding.
type fields struct {
	c     *conversion
	node  *yaml.Node
	path  string
	taken map[string]bool
}

// open starts reading a mapping; other nodes have no fields.
func (c *conversion) open(node *yaml.Node, path string) *fields {
	if node != nil && node.Kind != yaml.MappingNode {
		node = nil
	}
	return &fields{c: c, node: node, path: path, taken: map[string]bool{}}
}

// fields starts reading a field that should be a mapping.
func (v value) fields() *fields {
	if v.present() && v.node.Kind != yaml.MappingNode {
		v.c.addFinding(v, "is %s, want fields", kindOf(v.node))
	}
	return v.c.open(v.node, v.path)
}

// take reads and removes a field.
func (f *fields) take(name string) value {
	f.taken[name] = true
	v := value{c: f.c, path: join(f.path, name)}
	for i := 0; f.node != nil && i+1 < len(f.node.Content); i += 2 {
		if f.node.Content[i].Value == name {
			v.key, v.node = f.node.Content[i], f.node.Content[i+1]
		}
	}
	return v
}

// rest reads and removes all remaining fields, in their order.
func (f *fields) rest() []value {
	var out []value
	for i := 0; f.node != nil && i+1 < len(f.node.Content); i += 2 {
		if name := f.node.Content[i].Value; !f.taken[name] {
			out = append(out, f.take(name))
		}
	}
	return out
}

// end adds a finding for each field that was not read.
func (f *fields) end() {
	for _, v := range f.rest() {
		if f.path == "" && !v.c.within("metadata") && isOneOf(v.key.Value, "name", "labels", "annotations") {
			v.c.addFinding(v, "unknown field; probably meant: metadata.%s, with the line indented below metadata", v.key.Value)
			continue
		}
		v.c.addFinding(v, "unknown field")
	}
}

// within reports whether the root has a field with a value.
func (c *conversion) within(name string) bool {
	n := child(c.root, name)
	return n != nil && len(n.Content) > 0
}

// items are the elements of a field that should be a list.
func (v value) items() []value {
	if !v.present() {
		return nil
	}
	if v.node.Kind != yaml.SequenceNode {
		v.c.addFinding(v, "is %s, want a list", kindOf(v.node))
		return nil
	}
	out := make([]value, len(v.node.Content))
	for i, n := range v.node.Content {
		out[i] = value{c: v.c, node: n, path: fmt.Sprintf("%s[%d]", v.path, i)}
	}
	return out
}

// text is the value of a field that should be a string; empty when it is not there.
func (v value) text() string {
	if !v.present() {
		return ""
	}
	if v.node.Kind != yaml.ScalarNode || v.node.Tag != "!!str" {
		v.c.addFinding(v, "is %s, want a string", kindOf(v.node))
		return ""
	}
	return v.node.Value
}

// boolean is the value of a field that should be a boolean; false when it is not there.
func (v value) boolean() bool {
	var b bool
	if v.present() && (v.node.Tag != "!!bool" || v.node.Decode(&b) != nil) {
		v.c.addFinding(v, "is %s, want true or false", kindOf(v.node))
	}
	return b
}

// maxSeconds is the longest duration in seconds: a duration counts nanoseconds in 63 bits.
const maxSeconds = 9223372036

// seconds is the value of a field that should be a number of seconds.
func (v value) seconds() int64 {
	var n int64
	switch {
	case v.node.Tag != "!!int" || v.node.Decode(&n) != nil:
		v.c.addFinding(v, "is %s, want a number of seconds", kindOf(v.node))
	case n < 0:
		v.c.addFinding(v, "%d is negative, want a number of seconds", n)
	case n > maxSeconds:
		v.c.addFinding(v, "%d seconds are more than a duration can hold, which is %d", n, int64(maxSeconds))
	}
	return n
}

func kindOf(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Tag == "!!int" || n.Tag == "!!float":
		return "a number"
	case n.Tag == "!!bool":
		return "a boolean"
	case n.Tag == "!!null":
		return "nothing"
	default:
		return fmt.Sprintf("the string %q", n.Value)
	}
}

// addFinding adds a finding at the position of v.
func (c *conversion) addFinding(v value, format string, args ...any) {
	c.findings = append(c.findings, Finding{v.path, fmt.Sprintf(format, args...)})
}

// note records that a field has no equivalent or a different meaning, and returns the comment with the note.
func (c *conversion) note(v value, format string, args ...any) string {
	text := fmt.Sprintf(format, args...)
	c.notes = append(c.notes, Note{v.path, text})
	return v.path + ": " + text
}

// leaveOut adds a note about a field that is not copied, with its value if that is short, at the head of an object.
func (c *conversion) leaveOut(m *draft, v value, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if v.node != nil && v.node.Kind == yaml.ScalarNode && len(v.node.Value) <= 64 {
		text = fmt.Sprintf("%q is not carried over: ", v.node.Value) + text
	} else {
		text = "not carried over: " + text
	}
	m.head = append(m.head, c.note(v, "%s", text))
}

// mapping is a mapping of the output under construction.
type mapping struct{ node *yaml.Node }

func newMapping() *mapping { return &mapping{&yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}} }

// add appends a field, with comments above it.
func (m *mapping) add(key string, n *yaml.Node, comments ...string) {
	m.node.Content = append(m.node.Content, scalar(key), n)
	m.comment(key, comments...)
}

// child is the mapping under a key, which is added if it is not there.
func (m *mapping) child(key string) *mapping {
	if n := child(m.node, key); n != nil {
		return &mapping{n}
	}
	inner := newMapping()
	m.add(key, inner.node)
	return inner
}

// carry copies a field unchanged under a name, with the comments of the user.
func (m *mapping) carry(name string, v value, comments ...string) {
	if !v.present() {
		return
	}
	v.c.remember(v)
	key := scalar(name)
	if v.key != nil {
		v.c.carried[v.key] = true
		key.HeadComment, key.LineComment, key.FootComment = v.key.HeadComment, v.key.LineComment, v.key.FootComment
	}
	m.node.Content = append(m.node.Content, key, v.node)
	m.comment(name, comments...)
}

// comment writes comments above a field.
func (m *mapping) comment(name string, comments ...string) {
	for i := 0; i < len(m.node.Content); i += 2 {
		if key := m.node.Content[i]; key.Value == name {
			for _, text := range comments {
				key.HeadComment = strings.TrimPrefix(key.HeadComment+"\n"+wrap(text), "\n")
			}
		}
	}
}

// has reports whether there is a field of that name.
func (m *mapping) has(name string) bool { return child(m.node, name) != nil }

// remember records the positions of a node and of all nodes below it.
func (c *conversion) remember(v value) {
	c.origins[v.node] = v.path
	switch v.node.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(v.node.Content); i += 2 {
			c.carried[v.node.Content[i]] = true
			c.remember(value{node: v.node.Content[i+1], path: join(v.path, v.node.Content[i].Value)})
		}
	case yaml.SequenceNode:
		for i, n := range v.node.Content {
			c.remember(value{node: n, path: fmt.Sprintf("%s[%d]", v.path, i)})
		}
	}
}

// saveComments moves the user's comments on fields that were not copied to the head of the first object.
func (c *conversion) saveComments(n *yaml.Node, path string) {
	if len(c.drafts) == 0 {
		return
	}
	save := func(n *yaml.Node, path string) {
		if _, known := c.origins[n]; known || c.carried[n] {
			return
		}
		at := ""
		if path != "" && !isOneOf(path, "apiVersion", "kind") {
			at = "At " + path + ": "
		}
		for _, comment := range []string{n.HeadComment, n.LineComment, n.FootComment} {
			for line := range strings.Lines(comment) {
				if text := strings.TrimSpace(strings.TrimLeft(line, "# \t")); text != "" {
					c.drafts[0].head = append(c.drafts[0].head, at+text)
				}
			}
		}
	}
	save(n, path)
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			here := join(path, n.Content[i].Value)
			save(n.Content[i], here)
			c.saveComments(n.Content[i+1], here)
		}
	case yaml.SequenceNode:
		for i, inner := range n.Content {
			c.saveComments(inner, fmt.Sprintf("%s[%d]", path, i))
		}
	}
}

// from returns a new node that replaces a field of the source object.
func (v value) from(n *yaml.Node) *yaml.Node {
	v.c.origins[n] = v.path
	return n
}

// scalar is a string, quoted where it would be read as something else.
func scalar(text string) *yaml.Node {
	var n yaml.Node
	// Encoding a string into a node cannot fail.
	_ = n.Encode(text)
	return &n
}

// raw is a number or a boolean.
func raw(tag, text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: text}
}

func list(nodes ...*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: nodes}
}

// words is a list of strings on one line.
func words(texts ...string) *yaml.Node {
	out := list()
	out.Style = yaml.FlowStyle
	for _, text := range texts {
		out.Content = append(out.Content, scalar(text))
	}
	return out
}

// object is a mapping of strings, from names and values in turn.
func object(pairs ...string) *mapping {
	m := newMapping()
	for i := 0; i+1 < len(pairs); i += 2 {
		m.add(pairs[i], scalar(pairs[i+1]))
	}
	return m
}

func child(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

func textAt(n *yaml.Node, key string) string {
	if found := child(n, key); found != nil && found.Tag == "!!str" {
		return found.Value
	}
	return ""
}

func join(path, key string) string {
	switch {
	case strings.ContainsAny(key, "./"):
		return path + "[" + key + "]"
	case path == "":
		return key
	default:
		return path + "." + key
	}
}

func isOneOf(text string, known ...string) bool {
	for _, k := range known {
		if k == text {
			return true
		}
	}
	return false
}

// yamlLineMark begins a line of a comment that is not to be wrapped.
const yamlLineMark = "\x00"

// commentWidth is how wide comments may grow, in characters.
const commentWidth = 110

// wrap breaks a comment into lines.
func wrap(text string) string {
	if line, ok := strings.CutPrefix(text, yamlLineMark); ok {
		return "#   " + line
	}
	var lines []string
	line := "#"
	for _, word := range strings.Fields(text) {
		if len(line)+1+len(word) > commentWidth && line != "#" {
			lines, line = append(lines, line), "#  "
		}
		line += " " + word
	}
	return strings.Join(append(lines, line), "\n")
}
