package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
)

// report is the coverage by line.
type report struct {
	lists  []list
	waived map[string]string
	by     map[string][]string
	// mistakes are claims and waivers that cannot be right.
	mistakes []string
}

func newReport(lists []list, waived map[string]string, claims []claim) report {
	r := report{lists: lists, waived: waived, by: map[string][]string{}}
	known := map[string]bool{}
	for _, l := range lists {
		for _, s := range l.sections {
			for _, line := range s.lines {
				known[line.number] = true
			}
		}
	}
	for _, c := range claims {
		if !known[c.number] {
			r.mistakes = append(r.mistakes, fmt.Sprintf("%s: claims %s, which no checklist has", c.by, c.number))
			continue
		}
		r.by[c.number] = append(r.by[c.number], c.by)
	}
	for number := range waived {
		switch {
		case !known[number]:
			r.mistakes = append(r.mistakes, fmt.Sprintf("%s is waived, but no checklist has it", number))
		case len(r.by[number]) > 0:
			r.mistakes = append(r.mistakes, fmt.Sprintf("%s is waived, but covered by %s", number, r.by[number][0]))
		}
	}
	slices.Sort(r.mistakes)
	return r
}

// tally counts lines.
type tally struct{ covered, waived, missing int }

func (t tally) add(u tally) tally {
	return tally{t.covered + u.covered, t.waived + u.waived, t.missing + u.missing}
}

func (r report) tally(s section) (t tally) {
	for _, line := range s.lines {
		switch {
		case len(r.by[line.number]) > 0:
			t.covered++
		case r.waived[line.number] != "":
			t.waived++
		default:
			t.missing++
		}
	}
	return t
}

func (r report) total(l list) (t tally) {
	for _, s := range l.sections {
		t = t.add(r.tally(s))
	}
	return t
}

// complete reports whether every line is covered or waived, and no claim is mistaken.
func (r report) complete() bool {
	return len(r.mistakes) == 0 && !slices.ContainsFunc(r.lists, func(l list) bool { return r.total(l).missing > 0 })
}

// write prints the lines with what covers them, and then the totals.
func (r report) write(w io.Writer, onlyMissing bool) error {
	var b bytes.Buffer
	for _, l := range r.lists {
		for _, s := range l.sections {
			if onlyMissing && r.tally(s).missing == 0 {
				continue
			}
			fmt.Fprintf(&b, "%s\n", s.title)
			for _, line := range s.lines {
				r.writeLine(&b, line, onlyMissing)
			}
			fmt.Fprintln(&b)
		}
	}
	for _, l := range r.lists {
		fmt.Fprintf(&b, "%-44s %7s %7s %7s\n", l.name, "covered", "waived", "missing")
		for _, s := range l.sections {
			writeTally(&b, "  "+s.title, r.tally(s))
		}
		writeTally(&b, "  all", r.total(l))
	}
	for _, m := range r.mistakes {
		fmt.Fprintf(&b, "mistake: %s\n", m)
	}
	_, err := w.Write(b.Bytes())
	return err
}

func (r report) writeLine(b *bytes.Buffer, line line, onlyMissing bool) {
	by := r.by[line.number]
	reason := r.waived[line.number]
	if onlyMissing && (len(by) > 0 || reason != "") {
		return
	}
	fmt.Fprintf(b, "  %s %s\n", line.number, line.text)
	switch {
	case onlyMissing:
	case len(by) > 0:
		indent := strings.Repeat(" ", len(line.number)+3)
		fmt.Fprintf(b, "%s%s\n", indent, strings.Join(by, "\n"+indent))
	case reason != "":
		fmt.Fprintf(b, "       waived: %s\n", reason)
	default:
		fmt.Fprintf(b, "       NOT COVERED\n")
	}
}

func writeTally(b *bytes.Buffer, title string, t tally) {
	fmt.Fprintf(b, "%-44s %7d %7d %7d\n", title, t.covered, t.waived, t.missing)
}
