package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// The lines of a README between which the table stands, and what a comment that belongs into it begins with.
const (
	tableBegins = "<!-- values -->\n"
	tableEnds   = "<!-- end of values -->\n"
	marker      = "# -- "
)

// value is one row of the table.
type value struct{ path, byDefault, about string }

// document writes the table of a chart's values into its README.
func document(chart string) error {
	text, err := os.ReadFile(filepath.Join(chart, "values.yaml"))
	if err != nil {
		return err
	}
	values, err := read(text)
	if err != nil {
		return fmt.Errorf("reading values.yaml: %w", err)
	}
	return insert(filepath.Join(chart, "README.md"), tableBegins, tableEnds, table(values))
}

// insert replaces what a page has between two lines.
func insert(name, begins, ends, text string) error {
	page, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	before, rest, found := bytes.Cut(page, []byte(begins))
	_, after, closed := bytes.Cut(rest, []byte(ends))
	if !found || !closed {
		return fmt.Errorf("%s has no place for the table: %q and %q", filepath.Base(name), begins, ends)
	}
	return os.WriteFile(name, []byte(string(before)+begins+text+ends+string(after)), 0o644)
}

// read returns the values in their order. A value with a comment is one row, whatever is below it; a value without one, and
// without others below it, is an error.
func read(text []byte) ([]value, error) {
	var file yaml.Node
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, err
	}
	if len(file.Content) != 1 || file.Content[0].Kind != yaml.MappingNode {
		return nil, fmt.Errorf("want one map")
	}
	return below("", file.Content[0])
}

func below(prefix string, level *yaml.Node) ([]value, error) {
	var out []value
	for i := 0; i < len(level.Content); i += 2 {
		key, node := level.Content[i], level.Content[i+1]
		path := prefix + key.Value
		if about := comment(key.HeadComment); about != "" {
			byDefault, err := oneLine(node)
			if err != nil {
				return nil, fmt.Errorf("value %s: %w", path, err)
			}
			out = append(out, value{path, byDefault, about})
			continue
		}
		if node.Kind != yaml.MappingNode || len(node.Content) == 0 {
			return nil, fmt.Errorf("value %s has no comment that begins with %q", path, marker)
		}
		nested, err := below(path+".", node)
		if err != nil {
			return nil, err
		}
		out = append(out, nested...)
	}
	return out, nil
}

// comment is the text from the marker on, in one line.
func comment(head string) string {
	_, text, found := strings.Cut(head, marker)
	if !found {
		return ""
	}
	return strings.ReplaceAll(text, "\n# ", " ")
}

// oneLine writes a value as JSON, with the keys in their order.
func oneLine(node *yaml.Node) (string, error) {
	var parts []string
	switch node.Kind {
	case yaml.MappingNode:
		for i := 0; i < len(node.Content); i += 2 {
			text, err := oneLine(node.Content[i+1])
			if err != nil {
				return "", err
			}
			parts = append(parts, fmt.Sprintf("%q:%s", node.Content[i].Value, text))
		}
		return "{" + strings.Join(parts, ",") + "}", nil
	case yaml.SequenceNode:
		for _, item := range node.Content {
			text, err := oneLine(item)
			if err != nil {
				return "", err
			}
			parts = append(parts, text)
		}
		return "[" + strings.Join(parts, ",") + "]", nil
	}
	var plain any
	if err := node.Decode(&plain); err != nil {
		return "", err
	}
	text, err := json.Marshal(plain)
	return string(text), err
}

// table is the table in Markdown.
func table(values []value) string {
	var out strings.Builder
	out.WriteString("| Value | Default | Meaning |\n|---|---|---|\n")
	for _, v := range values {
		byDefault := "–"
		if v.byDefault != "null" {
			byDefault = "`" + v.byDefault + "`"
		}
		fmt.Fprintf(&out, "| `%s` | %s | %s |\n", v.path, byDefault, strings.ReplaceAll(v.about, "|", "\\|"))
	}
	return out.String()
}
