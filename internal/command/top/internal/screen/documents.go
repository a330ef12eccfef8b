package screen

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-anew/karpenter/internal/view"
)

// tab is one of the views that have a list.
type tab int

const (
	nodesTab tab = iota
	pendingTab
	movesTab
	costTab
	poolsTab
	tabs
)

// Views are the names of the views, as --view takes them.
func Views() []string { return []string{"nodes", "pending", "moves", "cost", "pools"} }

// title is what a view is called on the screen.
func (t tab) title() string {
	name := Views()[t]
	return strings.ToUpper(name[:1]) + name[1:]
}

// documents are the newest documents that have been read.
type documents struct {
	fleet   *view.Fleet
	pending *view.Pending
	moves   *view.Moves
	cost    *view.Cost
	pools   *view.Pools
}

// head is what the document of a view begins with; null until it has been read.
func (d documents) head(t tab) *view.Head {
	switch {
	case t == nodesTab && d.fleet != nil:
		return &d.fleet.Head
	case t == pendingTab && d.pending != nil:
		return &d.pending.Head
	case t == movesTab && d.moves != nil:
		return &d.moves.Head
	case t == costTab && d.cost != nil:
		return &d.cost.Head
	case t == poolsTab && d.pools != nil:
		return &d.pools.Head
	}
	return nil
}

// put keeps a document that was read.
func (d *documents) put(document any) {
	switch v := document.(type) {
	case view.Fleet:
		d.fleet = &v
	case view.Pending:
		d.pending = &v
	case view.Moves:
		d.moves = &v
	case view.Cost:
		d.cost = &v
	case view.Pools:
		d.pools = &v
	}
}

// table is the table of a view for a screen of this width.
func (d documents) table(t tab, to int) table {
	if d.head(t) == nil {
		return table{none: "Reading the cluster ..."}
	}
	switch t {
	case pendingTab:
		return pendingTable(d.pending)
	case movesTab:
		return movesTable(d.moves)
	case costTab:
		return costTable(d.cost, to)
	case poolsTab:
		return poolsTable(d.pools)
	}
	return fleetTable(d.fleet)
}

// read reads the document of a view.
func read(ctx context.Context, from view.Source, t tab) (any, error) {
	switch t {
	case nodesTab:
		return from.Fleet(ctx, time.Time{})
	case pendingTab:
		return from.Pending(ctx, time.Time{})
	case movesTab:
		return from.Moves(ctx, time.Time{})
	case costTab:
		return from.Cost(ctx, time.Time{})
	case poolsTab:
		return from.Pools(ctx, time.Time{})
	}
	return nil, fmt.Errorf("there is no view %d", t)
}

// tabOf is the view of a name.
func tabOf(name string) (tab, error) {
	if i := slices.Index(Views(), name); i >= 0 {
		return tab(i), nil
	}
	return 0, fmt.Errorf("unknown view %q: known are %s", name, strings.Join(Views(), ", "))
}
