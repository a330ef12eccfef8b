package views

import (
	"context"
	"time"

	"github.com/karpenter-anew/karpenter/internal/simulation"
)

const (
	// leastInterval is the least time between two states of a cluster that is watched, objectsPerSecond how many objects the views may go through in a
	// second, on average: 100 000 pods make it about half a second.
	leastInterval    = 250 * time.Millisecond
	objectsPerSecond = 200_000
	// restPerObject is for how long the engine rests, for each object, before it is asked again: it takes about as long in the largest clusters.
	restPerObject = time.Millisecond / 10
)

// following is the progress of following a cluster.
type following struct {
	// seen is how many changes the state has.
	seen uint64
	// settled is set when the engine may have been asked about everything in the state.
	settled bool
	// refreshed is when what cannot be watched was read, refreshing while it is.
	refreshed  time.Time
	refreshing bool
	// failure is why the changes that were seen last are not shown.
	failure error
}

// follow is the state of a cluster that is watched. The lock is held.
func (c *Captured) follow(ctx context.Context) (simulation.ClusterState, error) {
	c.refresh()
	changes, age := c.watched.Changes(), c.from.Clock.Since(c.state.Options.Now)
	changed := changes != c.following.seen
	interval := max(leastInterval, time.Duration(len(c.state.Objects))*time.Second/objectsPerSecond)
	switch {
	case c.held == nil, changed && age >= interval:
		c.following.settled = false
	case !changed && (age >= MaxAge || !c.following.settled && age >= c.state.Rest):
		// What rested is asked again.
		c.following.settled = true
	default:
		return c.shown(), nil
	}
	c.following.seen = changes // before the objects are read: what changes meanwhile is seen next time
	if err := c.reopen(ctx); c.held == nil {
		return simulation.ClusterState{}, err
	} else if c.following.failure = err; err == nil {
		c.state.Rest = min(c.from.Refresh, time.Duration(len(c.state.Objects))*restPerObject)
	}
	return c.shown(), nil
}

// reopen makes the objects of the watch the state that is shown. The lock is held.
func (c *Captured) reopen(ctx context.Context) error {
	held, err := c.watched.State(c.kong)
	if err != nil {
		return err
	}
	opened, err := held.Open(ctx, held.Objects)
	if err != nil {
		return err
	}
	opened.Notes = append(opened.Notes, c.watched.Unknown()...)
	c.held, c.opened = held, opened
	c.show(held.Policies())
	return nil
}

// shown is the state with why it is not that of now. The lock is held.
func (c *Captured) shown() simulation.ClusterState {
	out := c.state
	if err := c.watched.Failure(); err != nil {
		out.Failure = err.Error()
	} else if c.following.failure != nil {
		out.Failure = c.following.failure.Error()
	}
	return out
}

// refresh reads what cannot be watched, in the background. The lock is held.
func (c *Captured) refresh() {
	f, now := &c.following, c.from.Clock.Now()
	if f.refreshed.IsZero() {
		f.refreshed = now // it was read when the watch began
	}
	if f.refreshing || now.Sub(f.refreshed) < c.from.Refresh {
		return
	}
	f.refreshing = true
	go func() {
		c.watched.Refresh(c.background)
		c.mu.Lock()
		defer c.mu.Unlock()
		f.refreshing, f.refreshed = false, c.from.Clock.Now()
	}()
}
