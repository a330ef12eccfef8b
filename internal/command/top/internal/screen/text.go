package screen

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// role is what a piece of text is for. Roles are drawn with attributes and colors of the terminal; the text alone has to say the same.
type role uint8

const (
	plain role = iota
	faint
	strong
	good
	warn
	bad
	chosen
)

// span is text with one role, line is one line of the screen.
type (
	span struct {
		text string
		role role
	}
	line []span
)

// say is a line with one role.
func say(r role, text string) line { return line{{text, r}} }

// plain is the line as text.
func (l line) plain() string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(clean(s.text))
	}
	return strings.TrimRight(b.String(), " ")
}

// styled is the line with escape sequences. The renderer of the terminal leaves out colors that it does not have.
func (l line) styled() string {
	var b strings.Builder
	for _, s := range l {
		text := clean(s.text)
		if s.role == plain || text == "" {
			b.WriteString(text)
			continue
		}
		b.WriteString(style(s.role).Styled(text))
	}
	return b.String()
}

// style is how a role is drawn: the eight colors of all terminals, which themes adapt, and attributes.
func style(r role) ansi.Style {
	s := ansi.NewStyle()
	switch r {
	case faint:
		return s.Faint()
	case strong:
		return s.Bold()
	case good:
		return s.ForegroundColor(ansi.Green)
	case warn:
		return s.ForegroundColor(ansi.Yellow)
	case bad:
		return s.Bold().ForegroundColor(ansi.Red)
	case chosen:
		return s.Reverse(true)
	}
	return s
}

// width is how many columns of the screen the line takes.
func (l line) width() int {
	n := 0
	for _, s := range l {
		n += width(s.text)
	}
	return n
}

// cut shortens the line to a width.
func (l line) cut(to int) line {
	for i, s := range l {
		w := width(s.text)
		if w <= to {
			to -= w
			continue
		}
		if trimmed := strings.TrimRight(s.text, " "); i == len(l)-1 && width(trimmed) <= to {
			return append(l[:i:i], span{pad(trimmed, to, false), s.role})
		}
		return append(l[:i:i], span{shorten(s.text, to), s.role})
	}
	return l
}

// split puts one line at the left and one at the right of a width; the right one gives way.
func split(left, right line, to int) line {
	gap := to - left.width() - right.width()
	if gap < 1 {
		return left.cut(to)
	}
	return append(append(left[:len(left):len(left)], span{text: strings.Repeat(" ", gap)}), right...)
}

// ascii reports whether the text has only printable ASCII characters, one column each.
func ascii(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// clean replaces characters that could control the terminal: text is from objects that anyone with access to the cluster may write.
func clean(s string) string {
	if ascii(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unicode.Is(unicode.C, r) || r == '\u2028' || r == '\u2029' {
			return '?'
		}
		return r
	}, s)
}

// width is how many columns of the screen a text takes.
func width(s string) int {
	if ascii(s) {
		return len(s)
	}
	return ansi.StringWidth(clean(s))
}

// shorten cuts a text to a width; "~" is where text is missing.
func shorten(s string, to int) string {
	s = clean(s)
	switch {
	case to <= 0:
		return ""
	case width(s) <= to:
		return s
	case ascii(s):
		return s[:to-1] + "~"
	}
	return ansi.Truncate(s, to-1, "") + "~"
}

// pad fills a text to a width, or shortens it.
func pad(s string, to int, right bool) string {
	s = shorten(s, to)
	space := strings.Repeat(" ", max(to-width(s), 0))
	if right {
		return space + s
	}
	return s + space
}

// wrap breaks text into lines of a width; indented text stays indented.
func wrap(text string, to int) []string {
	var out []string
	for l := range strings.Lines(text) {
		l = strings.TrimRight(l, "\n")
		body := strings.TrimLeft(l, " ")
		indent := min(len(l)-len(body), max(to-20, 0))
		first := true
		for part := range strings.Lines(ansi.Wrap(clean(body), max(to-indent-2, 10), ",")) {
			part = strings.TrimRight(part, "\n")
			if !first {
				part = "  " + part
			}
			first = false
			out = append(out, strings.Repeat(" ", indent)+part)
		}
		if body == "" {
			out = append(out, "")
		}
	}
	return out
}
