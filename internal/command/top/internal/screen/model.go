package screen

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/karpenter-anew/karpenter/internal/view"
)

// Model is what is shown. It is a value: Update returns the next one.
type Model struct {
	settings
	width, height int
	now           time.Time

	tab    tab
	lists  [tabs]list
	shown  listing
	pages  []page
	docs   documents
	node   nodeState
	paused bool
	// typing is set while the filter is edited, which was before then.
	typing bool
	before string

	// failures are the last ones by view, reading are the views that are being read now.
	failures [tabs]failure
	reading  [tabs]bool
	// stale is set when the cluster has changed since begun, when reading began the last time.
	stale bool
	begun time.Time
	// polled is set when the source tells no changes: it is read at every interval.
	polled bool
}

// settings do not change.
type settings struct {
	ctx      context.Context //nolint:containedctx // commands of Bubble Tea have no parameter for it
	source   view.Source
	changes  <-chan uint64
	clock    func() time.Time
	interval time.Duration
	maxAge   time.Duration
	zone     *time.Location
}

// nodeState is the node whose details are shown.
type nodeState struct {
	name    string
	detail  *view.NodeDetail
	failed  failure
	reading bool
}

// The messages beside those of Bubble Tea.
type (
	// documentMsg is a document that was read, or the failure to read it.
	documentMsg struct {
		tab      tab
		document any
		err      error
		at       time.Time
	}
	// nodeMsg are the details of a node, or the failure to read them.
	nodeMsg struct {
		name   string
		detail view.NodeDetail
		err    error
		at     time.Time
	}
	// changeMsg says that the cluster has changed; open is not set when the source tells no more changes.
	changeMsg struct{ open bool }
	// tickMsg is sent every second.
	tickMsg time.Time
)

// Init implements tea.Model.
func (m Model) Init() tea.Cmd { return tea.Batch(m.waitForChange(), tick()) }

func tick() tea.Cmd { return tea.Tick(time.Second, func(t time.Time) tea.Msg { return tickMsg(t) }) }

// waitForChange waits until the source tells a change. The first one is there from the beginning.
func (m Model) waitForChange() tea.Cmd {
	changes := m.changes
	return func() tea.Msg {
		_, open := <-changes
		return changeMsg{open}
	}
}

// Update implements tea.Model.
func (m Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) { return m.update(msg) }

func (m Model) update(msg tea.Msg) (Model, tea.Cmd) {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		m.arrange()
	case tea.KeyPressMsg:
		m, cmd = m.press(msg)
	case tea.PasteMsg:
		if m.typing {
			m.setFilter(m.list().filter + msg.Content)
		}
	case changeMsg:
		m.stale, m.polled = true, !msg.open
		if msg.open {
			cmd = m.waitForChange()
		}
		m, more := m.catchUp()
		return m.settle(), tea.Batch(cmd, more)
	case tickMsg:
		m.now = m.clock()
		m.stale = m.stale || m.polled
		m, cmd = m.catchUp()
		cmd = tea.Batch(cmd, tick())
	case documentMsg:
		m.receive(msg)
	case nodeMsg:
		m.receiveNode(msg)
	}
	return m.settle(), cmd
}

// catchUp reads what is due: what has changed, at most once per interval, and what could not be read.
func (m Model) catchUp() (Model, tea.Cmd) {
	if m.paused {
		return m, nil
	}
	if m.stale && (m.begun.IsZero() || m.now.Sub(m.begun) >= m.interval) {
		return m.readAll(false)
	}
	var cmds []tea.Cmd
	for _, t := range m.needed() {
		if f := m.failures[t]; f.err != nil && !f.retry.After(m.now) {
			m, cmds = m.begin(t, cmds)
		}
	}
	if f := m.node.failed; m.node.name != "" && f.err != nil && !f.retry.After(m.now) {
		m, cmds = m.beginNode(cmds)
	}
	return m, tea.Batch(cmds...)
}

// needed are the views whose documents are on the screen: the title has totals of the fleet.
func (m Model) needed() []tab {
	if m.tab == nodesTab {
		return []tab{nodesTab}
	}
	return []tab{nodesTab, m.tab}
}

// readAll reads the documents on the screen. Those that are being read are read once more afterwards, and those whose retry is not due
// only if the user asks.
func (m Model) readAll(asked bool) (Model, tea.Cmd) {
	m.stale, m.begun = false, m.now
	var cmds []tea.Cmd
	for _, t := range m.needed() {
		if f := m.failures[t]; f.err == nil || asked || !f.retry.After(m.now) {
			m.stale = m.stale || m.reading[t]
			m, cmds = m.begin(t, cmds)
		}
	}
	if m.node.name != "" {
		m.stale = m.stale || m.node.reading
		m, cmds = m.beginNode(cmds)
	}
	return m, tea.Batch(cmds...)
}

// begin reads the document of a view unless it is being read.
func (m Model) begin(t tab, cmds []tea.Cmd) (Model, []tea.Cmd) {
	if m.reading[t] {
		return m, cmds
	}
	m.reading[t] = true
	s := m.settings
	return m, append(cmds, func() tea.Msg {
		document, err := read(s.ctx, s.source, t)
		return documentMsg{tab: t, document: document, err: err, at: s.clock()}
	})
}

// beginNode reads the details of the node on the screen unless they are being read.
func (m Model) beginNode(cmds []tea.Cmd) (Model, []tea.Cmd) {
	if m.node.reading {
		return m, cmds
	}
	m.node.reading = true
	s, name := m.settings, m.node.name
	return m, append(cmds, func() tea.Msg {
		detail, err := s.source.Node(s.ctx, name, time.Time{})
		return nodeMsg{name: name, detail: detail, err: err, at: s.clock()}
	})
}

// receive keeps a document, or the failure to read it: then the last document stays.
func (m *Model) receive(msg documentMsg) {
	m.now, m.reading[msg.tab] = msg.at, false
	if msg.err != nil {
		m.failures[msg.tab].fail(msg.err, m.now, m.interval)
		return
	}
	m.failures[msg.tab] = failure{}
	m.docs.put(msg.document)
	if msg.tab == m.tab {
		m.arrange()
	}
}

func (m *Model) receiveNode(msg nodeMsg) {
	if msg.name != m.node.name {
		return // the user went on
	}
	m.now, m.node.reading = msg.at, false
	if msg.err != nil {
		m.node.failed.fail(msg.err, m.now, m.interval)
		return
	}
	m.node.failed, m.node.detail = failure{}, &msg.detail
}

// list is what the user has chosen in the current view.
func (m *Model) list() *list { return &m.lists[m.tab] }

// arrange applies the choices of the user to the current document.
func (m *Model) arrange() { m.shown = m.list().arrange(m.docs.table(m.tab, m.width)) }

// settle scrolls what is on the screen so that the cursor is visible.
func (m Model) settle() Model {
	m.list().scroll(&m.shown, m.rows())
	if n := len(m.pages); n > 0 {
		p := m.pages[n-1]
		p.first = max(min(p.first, len(m.pageLines(p))-m.pageRows()), 0)
		m.pages = append(m.pages[:n-1:n-1], p)
	}
	return m
}
