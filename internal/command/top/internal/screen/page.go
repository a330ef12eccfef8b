package screen

import (
	"github.com/karpenter-anew/karpenter/internal/view"
)

// pageKind is what a page is about.
type pageKind int

const (
	helpPage pageKind = iota
	unknownPage
	nodePage
	rowPage
)

// page is text above a list.
type page struct {
	kind pageKind
	// id is that of the row it is about.
	id string
	// node is the node as the list had it when the page was opened.
	node view.Node
	// first is the first line on the screen.
	first int
}

// pageTitle is what a page is about.
func (m Model) pageTitle(p page) string {
	switch p.kind {
	case helpPage:
		return "Keys"
	case unknownPage:
		return m.tab.title() + ": what is not known or left out"
	case nodePage:
		return "Node " + m.node.of(p).Name
	}
	return m.tab.title() + ": " + p.id
}

// of is the newest that is known about the node of a page.
func (n nodeState) of(p page) view.Node {
	if n.detail != nil {
		return n.detail.Node
	}
	return p.node
}

// pageLines are all lines of a page.
func (m Model) pageLines(p page) []line {
	switch p.kind {
	case helpPage:
		return m.writer().helpPage()
	case unknownPage:
		return m.unknownPage()
	case nodePage:
		return m.writer().nodePage(m.node.of(p), m.node.detail)
	}
	for row := range m.shown.rows {
		if m.shown.id(row) != p.id {
			continue
		}
		switch m.tab {
		case pendingTab:
			return m.writer().pendingPage(pendingRows(m.docs.pending)[row], m.docs.pending.Unknown)
		case movesTab:
			return m.writer().movePage(moveRows(m.docs.moves)[row], m.docs.moves.Unknown)
		case costTab:
			return m.writer().workloadPage(costRows(m.docs.cost)[row], m.docs.cost.Unknown)
		case poolsTab:
			return m.writer().poolPage(m.docs.pools.Pools[row], m.docs.pools.Unknown)
		}
	}
	return []line{say(warn, "It is no longer part of the view. Esc goes back.")}
}

// unknownPage lists what the documents on the screen do not know.
func (m Model) unknownPage() []line {
	out := m.writer().failures(append([]failure{m.node.failed}, m.failures[:]...)...)
	if m.node.detail != nil {
		out = append(out, say(strong, "Node "+m.node.detail.Name))
		out = append(out, m.writer().sentences(m.node.detail.Unknown)...)
	}
	for _, t := range []tab{m.tab, nodesTab} {
		if head := m.docs.head(t); head != nil && (t == m.tab || m.tab != nodesTab) {
			out = append(out, say(strong, t.title()))
			out = append(out, m.writer().sentences(head.Unknown)...)
		}
		if m.tab == nodesTab {
			break
		}
	}
	if len(out) == 0 {
		return []line{say(faint, "Nothing has been read yet.")}
	}
	return out
}

// failures are the messages of the failures that the screen has no place for.
func (w writer) failures(all ...failure) []line {
	var out []line
	for _, f := range all {
		if f.err != nil {
			out = append(out, say(strong, "Failed "+counted(f.times, "time")+" in a row"))
			out = append(out, w.prose("  "+f.err.Error())...)
		}
	}
	return out
}

// section is the title of a section.
func section(title string) line { return line{{"", strong}, {"== " + title + " ==", strong}} }

// isSection reports whether a line is the title of a section.
func isSection(l line) bool { return len(l) == 2 && l[0] == span{"", strong} }
