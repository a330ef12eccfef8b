package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// receipts are the moments at which a watch of this program first showed something of an object.
type receipts struct {
	mu   sync.Mutex
	seen map[types.UID]time.Time
}

// follow watches a kind until ctx ends, and notes for each object when it was first shown with what is looked for. The API
// server closes a watch whose reader is slow; the next one begins with everything that exists.
func follow[T client.Object](ctx context.Context, p *plane, list client.ObjectList, shows func(T) bool) (*receipts, error) {
	events, err := p.Watch(ctx, list)
	if err != nil {
		return nil, fmt.Errorf("watching %T: %w", list, err)
	}
	r := &receipts{seen: map[types.UID]time.Time{}}
	go func() {
		for {
			for event := range events.ResultChan() {
				now := time.Now()
				if object, ok := event.Object.(T); ok && event.Type != watch.Deleted && shows(object) {
					r.note(object.GetUID(), now)
				}
			}
			events.Stop()
			again := await(ctx, time.Minute, "a new watch", func() (err error) { events, err = p.Watch(ctx, list); return err })
			if again != nil {
				return // what is missing is told by whoever waits for it
			}
		}
	}()
	return r, nil
}

func (r *receipts) note(uid types.UID, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.seen[uid]; !known {
		r.seen[uid] = now
	}
}

// times are the moments in order.
func (r *receipts) times() []time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]time.Time, 0, len(r.seen))
	for _, at := range r.seen {
		out = append(out, at)
	}
	slices.SortFunc(out, time.Time.Compare)
	return out
}

// await waits for so many receipts.
func (r *receipts) await(ctx context.Context, n int, limit time.Duration, what string) ([]time.Time, error) {
	var out []time.Time
	err := await(ctx, limit, what, func() error {
		if out = r.times(); len(out) < n {
			return fmt.Errorf("saw %d of %d", len(out), n)
		}
		return nil
	})
	return out, err
}

// settle waits until nothing was noted for a while.
func (r *receipts) settle(ctx context.Context, quiet, limit time.Duration) ([]time.Time, error) {
	var out []time.Time
	err := await(ctx, limit, "quiet", func() error {
		if out = r.times(); len(out) == 0 || time.Since(out[len(out)-1]) < quiet {
			return errors.New("there is always something new")
		}
		return nil
	})
	return out, err
}

// widest is the longest pause between neighbours.
func widest(times []time.Time) time.Duration {
	var out time.Duration
	for i := 1; i < len(times); i++ {
		out = max(out, times[i].Sub(times[i-1]))
	}
	return out
}
