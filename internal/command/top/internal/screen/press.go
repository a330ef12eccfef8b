package screen

import (
	"slices"
	"unicode"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"github.com/karpenter-anew/karpenter/internal/view"
)

// press does what a key is for.
func (m Model) press(key tea.KeyPressMsg) (Model, tea.Cmd) {
	if m.typing && key.String() != "ctrl+c" {
		m.edit(key)
		return m, nil
	}
	do := actionOf(key.String())
	switch do {
	case quit:
		return m, tea.Quit
	case help:
		if n := len(m.pages); n > 0 && m.pages[n-1].kind == helpPage {
			return m.close(), nil
		}
		return m.show(page{kind: helpPage}), nil
	case showUnknown:
		if n := len(m.pages); n > 0 && m.pages[n-1].kind == unknownPage {
			return m.close(), nil
		}
		return m.show(page{kind: unknownPage}), nil
	case refresh:
		return m.readAll(true)
	case pause:
		m.paused = !m.paused
		return m.catchUp()
	case showNodes, showPending, showMoves, showCost, showPools:
		return m.turn(tab(do - showNodes))
	}
	if len(m.pages) > 0 {
		return m.pressPage(do), nil
	}
	return m.pressList(do)
}

// pressList does what a key is for in a list.
func (m Model) pressList(do action) (Model, tea.Cmd) {
	l, all := m.list(), len(m.shown.order)
	switch do {
	case nextTab:
		return m.turn((m.tab + 1) % tabs)
	case previousTab:
		return m.turn((m.tab + tabs - 1) % tabs)
	case up:
		l.move(&m.shown, -1)
	case down:
		l.move(&m.shown, 1)
	case pageUp:
		l.move(&m.shown, -max(m.rows()-1, 1))
	case pageDown:
		l.move(&m.shown, max(m.rows()-1, 1))
	case first:
		l.move(&m.shown, -all)
	case last:
		l.move(&m.shown, all)
	case open:
		return m.open()
	case back:
		m.setFilter("")
	case filter:
		m.typing, m.before = true, l.filter
	case sortNext:
		shown, _ := m.shown.layout(m.width)
		visible := make([]column, len(shown))
		for i, c := range shown {
			visible[i] = c.column
		}
		l.next(visible)
		m.fromStart()
	case sortReverse:
		l.reversed = !l.reversed
		m.fromStart()
	}
	return m, nil
}

// turn goes to another view.
func (m Model) turn(to tab) (Model, tea.Cmd) {
	m.tab, m.pages, m.node = to, nil, nodeState{}
	m.arrange()
	if m.paused && m.docs.head(to) != nil {
		return m, nil
	}
	return m.readAll(false)
}

// edit changes the filter.
func (m *Model) edit(key tea.KeyPressMsg) {
	text := m.list().filter
	switch key.String() {
	case "enter":
		m.typing = false
	case "esc":
		m.typing = false
		m.setFilter(m.before)
	case "ctrl+u":
		m.setFilter("")
	case "backspace":
		_, size := utf8.DecodeLastRuneInString(text)
		m.setFilter(text[:len(text)-size])
	default:
		m.setFilter(text + key.Text)
	}
}

// setFilter changes the filter; control characters are left out.
func (m *Model) setFilter(text string) {
	l := m.list()
	l.filter = string(slices.DeleteFunc([]rune(text), func(r rune) bool { return unicode.Is(unicode.C, r) }))
	m.fromStart()
}

// fromStart applies changed choices, with the cursor in the first row.
func (m *Model) fromStart() {
	m.list().id = ""
	m.arrange()
}

// open shows the details of the row with the cursor.
func (m Model) open() (Model, tea.Cmd) {
	l := m.list()
	if l.at >= len(m.shown.order) {
		return m, nil
	}
	row := m.shown.order[l.at]
	switch m.tab {
	case nodesTab:
		n := m.docs.fleet.Nodes[row]
		return m.openNode(n)
	case costTab:
		r := costRows(m.docs.cost)[row]
		if r.nodes >= 0 {
			m, cmd := m.turn(nodesTab)
			m.setFilter(r.name)
			return m, cmd
		}
	case pendingTab:
		if planned := pendingRows(m.docs.pending)[row].planned; planned != nil && planned.NodeClaim != "" {
			return m.openNode(view.Node{Name: planned.NodeClaim, NodeClaim: planned.NodeClaim, NodePool: planned.NodePool, State: view.Launching})
		}
	}
	return m.show(page{kind: rowPage, id: l.id}), nil
}

// openNode shows the details of a node.
func (m Model) openNode(n view.Node) (Model, tea.Cmd) {
	m.node = nodeState{name: n.Name}
	m = m.show(page{kind: nodePage, id: nodeID(n), node: n})
	m, cmds := m.beginNode(nil)
	return m, tea.Batch(cmds...)
}

// show puts a page above what is shown.
func (m Model) show(p page) Model {
	m.pages = append(slices.Clone(m.pages), p)
	return m
}

// close goes back to what was shown before.
func (m Model) close() Model {
	if m.pages[len(m.pages)-1].kind == nodePage {
		m.node = nodeState{}
	}
	m.pages = slices.Clone(m.pages[:len(m.pages)-1])
	return m
}

// pressPage does what a key is for in a page.
func (m Model) pressPage(do action) Model {
	n := len(m.pages) - 1
	p, lines, screen := m.pages[n], m.pageLines(m.pages[n]), m.pageRows()
	switch do {
	case back:
		return m.close()
	case up:
		p.first--
	case down:
		p.first++
	case pageUp:
		p.first -= max(screen-1, 1)
	case pageDown:
		p.first += max(screen-1, 1)
	case first:
		p.first = 0
	case last:
		p.first = len(lines)
	case nextTab:
		for i := p.first + 1; i < len(lines); i++ {
			if isSection(lines[i]) {
				p.first = i
				break
			}
		}
	case previousTab:
		for p.first--; p.first > 0 && !isSection(lines[p.first]); p.first-- {
		}
	}
	p.first = max(min(p.first, len(lines)-screen), 0)
	m.pages = append(slices.Clone(m.pages[:n]), p)
	return m
}
