package screen

import (
	"fmt"
	"strings"
	"time"

	"github.com/karpenter-anew/karpenter/internal/view"
)

// writer writes the text of pages.
type writer struct {
	width int
	zone  *time.Location
	// at is the moment that times are compared with.
	at time.Time
}

// writer returns the writer for the screen.
func (m Model) writer() writer {
	w := writer{width: m.width, zone: m.zone}
	if head := m.docs.head(m.tab); head != nil {
		w.at = head.At
	}
	return w
}

// sentences are what a document does not know, or that there is nothing.
func (w writer) sentences(unknown []string) []line {
	if len(unknown) == 0 {
		return []line{say(faint, "  Nothing")}
	}
	var out []line
	for _, sentence := range unknown {
		out = append(out, w.prose("  "+sentence)...)
	}
	return out
}

// unknownLines is the section of a page about what is not known; empty for nothing.
func (w writer) unknownLines(unknown []string) []line {
	if len(unknown) == 0 {
		return nil
	}
	return append([]line{section("Not known or left out")}, w.sentences(unknown)...)
}

// fact is a line with a name and a value.
func (w writer) fact(name, value string) line {
	return line{{pad(name, 11, false), strong}, {text: value}}
}

// fullFact is a fact about how full a node is.
func (w writer) fullFact(name string, of func(view.Amounts) int64, text func(int64) string, requested *view.Amounts, allocatable view.Amounts) line {
	s, known := share(of, requested, allocatable)
	used := unknown
	if requested != nil {
		used = text(of(*requested))
	}
	return line{{pad(name, 11, false), strong}, {bar(s, known, 24), fullness(s, known)}, {text: fmt.Sprintf(" %s of %s requested", used, text(of(allocatable)))}}
}

// prose breaks text into lines.
func (w writer) prose(text string) []line {
	var out []line
	for _, l := range wrap(strings.TrimRight(text, "\n"), w.width) {
		out = append(out, line{{text: l}})
	}
	return out
}

// moment is a time with its distance.
func (w writer) moment(t time.Time) string {
	if t.IsZero() {
		return "at an unknown time"
	}
	text := t.In(w.zone).Format(time.DateTime)
	if w.at.IsZero() {
		return text
	}
	if t.After(w.at) {
		return text + " (in " + age(t.Sub(w.at)) + ")"
	}
	return text + " (" + age(w.at.Sub(t)) + " ago)"
}

// optional is a time that may not be known.
func (w writer) optional(t *time.Time, otherwise string) string {
	if t == nil {
		return otherwise
	}
	return w.moment(*t)
}
