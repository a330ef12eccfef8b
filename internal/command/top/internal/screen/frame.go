package screen

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/karpenter-anew/karpenter/internal/view"
)

// View implements tea.Model.
func (m Model) View() tea.View {
	lines := m.frame()
	text := make([]string, len(lines))
	for i, l := range lines {
		text[i] = l.styled()
	}
	v := tea.NewView(strings.Join(text, "\n"))
	v.AltScreen = true
	v.WindowTitle = "karpenter top"
	return v
}

// frame is the screen: as many lines as it has at most, none wider than it.
func (m Model) frame() []line {
	if m.width <= 0 || m.height <= 0 {
		return nil
	}
	out := m.above()
	if n := len(m.pages); n > 0 {
		out = append(out, m.pageFrame(m.pages[n-1])...)
	} else {
		out = append(out, m.listFrame(m.rows())...)
	}
	for len(out) < m.height-len(m.below()) {
		out = append(out, nil)
	}
	out = append(out, m.below()...)
	if len(out) > m.height {
		out = out[:m.height]
	}
	for i := range out {
		out[i] = out[i].cut(m.width)
	}
	return out
}

// rows is how many rows of a list the screen has.
func (m Model) rows() int {
	return max(m.height-len(m.above())-len(m.below())-len(m.shown.notes)-1, 1)
}

// pageRows is how many lines of a page the screen has, below its title.
func (m Model) pageRows() int { return max(m.height-len(m.above())-len(m.below())-1, 1) }

// above are the lines above the list: the title, the totals, and the views.
func (m Model) above() []line {
	out := []line{m.title()}
	if f := m.docs.fleet; f != nil && m.height >= 12 {
		out = append(out, totals(f.Totals), full(f.Totals, m.width))
	}
	if m.height >= 6 {
		out = append(out, m.tabLine())
	}
	return out
}

// title is where the documents come from, and of which moment they are.
func (m Model) title() line {
	head := m.docs.head(m.tab)
	left := line{{"karpenter top", strong}}
	if head == nil {
		return split(left, say(faint, "reading ..."), m.width)
	}
	left = append(left, span{text: "  " + head.Origin})
	var right []string
	if m.paused {
		right = append(right, "PAUSED")
	}
	if head.Past {
		right = append(right, "PAST")
	}
	if busy := m.now.Sub(m.begun); m.reading[m.tab] && busy >= 3*time.Second {
		right = append(right, "reading for "+age(busy))
	}
	right = append(right, clockTime(head.At, m.now, m.zone))
	if old := m.now.Sub(head.At); old >= 2*m.maxAge && old >= 10*time.Second {
		right = append(right, age(old)+" old")
	}
	return split(left, line{{strings.Join(right, "  "), strong}}, m.width)
}

// clockTime is a time, with the date unless that is today.
func clockTime(t, now time.Time, zone *time.Location) string {
	t = t.In(zone)
	if t.Format(time.DateOnly) == now.In(zone).Format(time.DateOnly) {
		return t.Format(time.TimeOnly)
	}
	return t.Format(time.DateTime)
}

// totals are the numbers of nodes and pods, and the price.
func totals(t view.Totals) line {
	out := line{{text: counted(t.Nodes, "node") + "  "}, {fmt.Sprintf("%d pending", t.Pending), plain}, {text: "  " + dollars(t.PricePerHour) + "/h"}}
	if t.Pending > 0 {
		out[1].role = warn
	}
	if t.UnknownPrices > 0 {
		out = append(out, span{fmt.Sprintf(" and %d of unknown price", t.UnknownPrices), warn})
	}
	var states []string
	for _, s := range []view.State{view.Launching, view.Starting, view.Ready, view.Blocked, view.NotReady, view.Disrupting, view.Draining} {
		if n := t.States[s]; n > 0 {
			states = append(states, fmt.Sprintf("%d %s", n, s))
		}
	}
	return append(out, span{text: "  " + strings.Join(states, ", ")})
}

// full is how full the fleet is.
func full(t view.Totals, screen int) line {
	var out line
	to := max(min(screen/2-26, 40), 12)
	for _, r := range []struct {
		name string
		of   func(view.Amounts) int64
		text func(int64) string
	}{{"CPU ", cpuOf, func(n int64) string { return cores(n / 1000 * 1000) }}, {"  Memory ", memoryOf, binary}} {
		s, known := share(r.of, t.Requested, t.Allocatable)
		used := unknown
		if t.Requested != nil {
			used = r.text(r.of(*t.Requested))
		}
		out = append(out, span{text: r.name}, span{bar(s, known, to), fullness(s, known)}, span{text: " " + used + "/" + r.text(r.of(t.Allocatable))})
	}
	return out
}

// tabLine names the views; that on the screen is in brackets.
func (m Model) tabLine() line {
	var out line
	for t := range tabs {
		text := fmt.Sprintf("%d %s", t+1, t.title())
		if t == m.tab {
			out = append(out, span{"[" + text + "]", chosen})
		} else {
			out = append(out, span{" " + text + " ", plain})
		}
	}
	at := min(m.lists[m.tab].at+1, len(m.shown.order))
	return split(out, say(faint, fmt.Sprintf("%d of %d", at, len(m.shown.order))), m.width)
}

// listFrame are the titles and some rows of the current list.
func (m Model) listFrame(rows int) []line {
	out := append([]line{}, m.shown.notes...)
	columns, _ := m.shown.layout(m.width)
	l := m.lists[m.tab]
	if len(m.shown.order) == 0 {
		text := m.shown.none
		if m.shown.rows > 0 {
			text = fmt.Sprintf("No row matches the filter /%s. Esc removes it.", l.filter)
		}
		return append(out, header(columns, l), say(faint, "  "+text))
	}
	out = append(out, header(columns, l))
	for at := l.first; at < min(l.first+rows, len(m.shown.order)); at++ {
		out = append(out, m.shown.row(columns, m.shown.order[at], at == l.at))
	}
	return out
}

// pageFrame are the title and some lines of a page.
func (m Model) pageFrame(p page) []line {
	lines, rows := m.pageLines(p), m.pageRows()
	end := min(p.first+rows, len(lines))
	where := "all"
	if len(lines) > rows {
		where = fmt.Sprintf("lines %d to %d of %d", p.first+1, end, len(lines))
	}
	out := []line{split(say(strong, m.pageTitle(p)), say(faint, where), m.width)}
	return append(out, lines[p.first:end]...)
}

// below are the lines below the list: failures, what is unknown or hidden, and keys.
func (m Model) below() []line {
	var out []line
	if m.node.failed.err != nil {
		var head *view.Head
		if m.node.detail != nil {
			head = &m.node.detail.Head
		}
		out = append(out, m.node.failed.line(head, m.now, m.paused))
	}
	for _, t := range m.needed() {
		if f := m.failures[t]; f.err != nil {
			out = append(out, f.line(m.docs.head(t), m.now, m.paused))
			break
		}
	}
	if head := m.docs.head(m.tab); len(out) == 0 && head != nil && head.Failure != "" {
		out = append(out, unreadLine(head, m.now))
	}
	if m.height < 5 {
		return out
	}
	return append(out, m.status(), keyLine(len(m.pages) > 0))
}

// status says what is not shown.
func (m Model) status() line {
	if m.typing {
		return line{{"/" + m.list().filter + "_", strong}, {"  Enter keeps the filter, Esc the one before", faint}}
	}
	var parts []string
	unknown := 0
	if head := m.docs.head(m.tab); head != nil {
		unknown += len(head.Unknown)
	}
	if m.node.detail != nil {
		unknown = len(m.node.detail.Unknown)
	}
	if unknown > 0 {
		parts = append(parts, fmt.Sprintf("? %s not known or left out (u)", counted(unknown, "thing")))
	}
	if l := m.lists[m.tab]; l.filter != "" && len(m.pages) == 0 {
		parts = append(parts, fmt.Sprintf("/%s: %s hidden (Esc)", l.filter, counted(m.shown.rows-len(m.shown.order), "row")))
	}
	if _, hidden := m.shown.layout(m.width); hidden > 0 && len(m.pages) == 0 {
		parts = append(parts, fmt.Sprintf("%s hidden (Enter)", counted(hidden, "column")))
	}
	return say(warn, strings.Join(parts, "   "))
}

// keyLine names the most important keys.
func keyLine(inPage bool) line {
	text := "Enter details  / filter  s sort  1-5 views  p pause  ? keys  q quit"
	if inPage {
		text = "Esc back  Tab next section  PgDn PgUp scroll  ? keys  q quit"
	}
	return say(faint, text)
}
