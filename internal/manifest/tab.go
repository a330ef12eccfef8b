package manifest

import (
	"bytes"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// tab is a tab character in the indentation of a line, which YAML forbids: the most common reason why a text that looks correct
// cannot be parsed.
type tab struct {
	// line and column are its position, both from 0.
	line, column int
	// indent is how many spaces the line should begin with, derived from the line before it.
	indent int
}

// maxTabs limits how many lines with tabs are examined, since each requires parsing the text up to that line.
const maxTabs = 32

func (t tab) String() string {
	return fmt.Sprintf("column %d: a tab in the indentation, where only spaces are allowed; probably meant: %d spaces, in line with the text above", t.column+1, t.indent)
}

// tab finds the first tab that prevents parsing: with spaces instead of the tab, the text up to and including its line can be
// parsed.
func (d document) tab() (tab, bool) {
	lines := bytes.Split(d.text, []byte("\n"))
	indent, looked := 0, 0
	for i, line := range lines {
		content := bytes.TrimLeft(line, " \t")
		if len(content) == 0 || content[0] == '#' {
			continue
		}
		if column := bytes.IndexByte(line[:len(line)-len(content)], '\t'); column >= 0 {
			if looked++; looked > maxTabs {
				break
			}
			if !readable(lines[:i+1]) {
				return tab{i, column, indent}, true
			}
		}
		indent = len(line) - len(content)
		for bytes.HasPrefix(content, []byte("- ")) {
			rest := bytes.TrimLeft(content[1:], " ")
			indent += len(content) - len(rest)
			content = rest
		}
	}
	return tab{}, false
}

func readable(lines [][]byte) bool {
	var n yaml.Node
	return yaml.Unmarshal(bytes.Join(lines, []byte("\n")), &n) == nil
}

// untabbed returns the document with the offending tabs replaced by the spaces that were probably intended, so that other errors
// can be reported at the same time. The result is only for error reporting.
func (d document) untabbed() (document, bool) {
	out, changed := d, false
	for range maxTabs {
		t, ok := out.tab()
		if !ok {
			break
		}
		lines := bytes.Split(out.text, []byte("\n"))
		lines[t.line] = append([]byte(strings.Repeat(" ", t.indent)), bytes.TrimLeft(lines[t.line], " \t")...)
		out.text, changed = bytes.Join(lines, []byte("\n")), true
	}
	return out, changed
}
