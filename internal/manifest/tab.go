package manifest

import (
	"bytes"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// tab is a tab character in the indentation of a line, which YAML forbids: the commonest reason why a text that looks right
// cannot be read.
type tab struct {
	// line and column are where it stands, both from 0.
	line, column int
	// indent is how many spaces the line should begin with, judged by the line before it.
	indent int
}

// maxTabs is how many lines with tabs are looked at, each of which means reading the text up to there.
const maxTabs = 32

func (t tab) String() string {
	return fmt.Sprintf("column %d: a tab in the indentation, where only spaces are allowed; probably meant: %d spaces, in line with the text above", t.column+1, t.indent)
}

// tab finds the first tab that keeps the document from being read: with spaces in its place, the text before it and its line
// can be.
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

// untabbed is the document with the tabs in the way replaced by the spaces that were probably meant, so that whatever else
// is wrong can be told at the same time. It is no document to act on.
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
