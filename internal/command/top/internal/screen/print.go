package screen

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/term"

	"github.com/karpenter-anew/karpenter/internal/document"
	"github.com/karpenter-anew/karpenter/internal/view"
)

// DefaultWidth is the width of a frame that is not for a terminal, unless COLUMNS is set.
const DefaultWidth = 120

// columns is the width of a frame: that of COLUMNS, of the terminal, or the default.
func (o Options) columns() int {
	if n, err := strconv.Atoi(o.env("COLUMNS")); err == nil && n > 0 {
		return n
	}
	if file, ok := o.Out.(*os.File); ok && isTerminal(file) {
		if to, _, err := term.GetSize(file.Fd()); err == nil && to > 0 {
			return to
		}
	}
	return DefaultWidth
}

// Print writes one frame as plain text, with all rows.
func Print(ctx context.Context, o Options) error {
	m, err := o.model(ctx)
	if err != nil {
		return err
	}
	m.width = o.columns()
	all, err := readWhole(ctx, o.Source, m.needed())
	if err != nil {
		return err
	}
	for _, document := range all {
		m.docs.put(document)
	}
	if err := m.list().choose(m.docs.table(m.tab, m.width), Views()[m.tab]); err != nil {
		return err
	}
	m.arrange()
	for _, l := range onePage(m) {
		if _, err := fmt.Fprintln(o.Out, l.plain()); err != nil {
			return err
		}
	}
	return nil
}

// readWhole reads the documents of views. That of the fleet is answered before the engine is done, and those of the others wait for it: it is
// read last.
func readWhole(ctx context.Context, from view.Source, views []tab) ([]any, error) {
	out := make([]any, len(views))
	if !slices.Contains(views, movesTab) {
		if _, err := from.Moves(ctx, time.Time{}); err != nil {
			return nil, err
		}
	}
	for _, fleet := range []bool{false, true} {
		for i, t := range views {
			if (t == nodesTab) != fleet {
				continue
			}
			var err error
			if out[i], err = read(ctx, from, t); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// choose completes the title of the column by which rows are ordered; an error if the view has none that begins so.
func (l *list) choose(t table, name string) error {
	if l.sort == "" {
		return nil
	}
	var titles []string
	for _, c := range t.columns {
		if strings.HasPrefix(c.title, l.sort) {
			l.sort = c.title
			return nil
		}
		titles = append(titles, c.title)
	}
	return fmt.Errorf("the view %s has no column %q: it has %s", name, l.sort, strings.Join(titles, ", "))
}

// onePage is one frame of any height: what is on the screen, without cursor and keys, and what is not known.
func onePage(m Model) []line {
	m.height = len(m.shown.order) + 100
	out := append(m.above()[:3:3], nil)
	m.lists[m.tab].at = -1
	for _, l := range m.listFrame(len(m.shown.order)) {
		out = append(out, l.cut(m.width))
	}
	var after []line
	if l := m.lists[m.tab]; l.filter != "" {
		after = append(after, say(plain, fmt.Sprintf("%d of %d rows match the filter %s", len(m.shown.order), m.shown.rows, l.filter)))
	}
	if _, hidden := m.shown.layout(m.width); hidden > 0 {
		after = append(after, say(plain, fmt.Sprintf("%s left out at %d columns of text: set COLUMNS", counted(hidden, "column"), m.width)))
	}
	if head := m.docs.head(m.tab); len(head.Unknown) > 0 {
		after = append(after, say(plain, "Not known or left out:"))
		after = append(after, m.writer().sentences(head.Unknown)...)
	}
	if len(after) > 0 {
		out = append(append(out, nil), after...)
	}
	return out
}

// Documents is the JSON of all views.
type Documents struct {
	// Version is that of the schema, Kind is List.
	Version string `json:"version"`
	Kind    string `json:"kind"`
	// Items are a Fleet, Pending, Moves, Cost and Pools, in this order.
	Items []any `json:"items"`
}

// PrintDocuments writes the documents of all views in a format, or that of one if View is set.
func PrintDocuments(ctx context.Context, o Options, format document.Format) error {
	views := []tab{nodesTab, pendingTab, movesTab, costTab, poolsTab}
	if o.View != "" {
		t, err := tabOf(o.View)
		if err != nil {
			return err
		}
		views = []tab{t}
	}
	documents, err := readWhole(ctx, o.Source, views)
	if err != nil {
		return err
	}
	if o.View != "" {
		return document.Write(o.Out, documents[0], format)
	}
	return document.Write(o.Out, Documents{Version: view.Version, Kind: "List", Items: documents}, format)
}
