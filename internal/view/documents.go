package view

import (
	"context"
	"fmt"
	"time"
)

// Revised is a Source that says when its answers change.
type Revised interface {
	Source
	// Revision changes whenever a view of the present may have changed.
	Revision(ctx context.Context) (uint64, error)
}

// Documents are the views of a source by name, as values to encode. It implements console.Source.
type Documents struct{ of Revised }

// DocumentsOf returns the documents of a source.
func DocumentsOf(s Revised) Documents { return Documents{s} }

// Document returns a view: fleet, pending, moves, cost, pools, node, which takes the name of one, or timeline, which is that of all moments.
func (d Documents) Document(ctx context.Context, view, name string, at time.Time) (any, error) {
	switch view {
	case "fleet":
		return d.of.Fleet(ctx, at)
	case "pending":
		return d.of.Pending(ctx, at)
	case "moves":
		return d.of.Moves(ctx, at)
	case "cost":
		return d.of.Cost(ctx, at)
	case "pools":
		return d.of.Pools(ctx, at)
	case "node":
		return d.of.Node(ctx, name, at)
	case "timeline":
		if !at.IsZero() {
			return nil, fmt.Errorf("%w: the time line is that of all moments: leave out at", ErrInvalid)
		}
		return d.of.Timeline(ctx)
	}
	return nil, fmt.Errorf("view %q: %w", view, ErrNotFound)
}

// Edit returns what manifests would change.
func (d Documents) Edit(ctx context.Context, manifests []byte) (any, error) {
	return d.of.Edit(ctx, manifests)
}

// Manifests returns the NodePools and node classes as YAML.
func (d Documents) Manifests(ctx context.Context) ([]byte, error) { return d.of.Manifests(ctx) }

// Revision changes whenever a document of the present may have changed.
func (d Documents) Revision(ctx context.Context) (uint64, error) { return d.of.Revision(ctx) }

// Changes sends the revision as Source does.
func (d Documents) Changes(ctx context.Context) <-chan uint64 { return d.of.Changes(ctx) }
