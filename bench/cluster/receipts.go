package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	toolswatch "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// receipts are the moments at which a watch of this program first showed what is looked for in an object.
type receipts struct {
	mu   sync.Mutex
	seen map[types.UID]receipt
}

// receipt is one such moment, and how much the object counts: a NodeClaim counts as its pods.
type receipt struct {
	at    time.Time
	worth int
}

// follow watches a kind until ctx ends. For each way to count an object it returns receipts of the moments at which objects first had a
// positive count. The API server closes a watch whose reader is slow. The next watch resumes where that one ended: receiving all objects
// again would load the API server more than the measured controller.
func follow[T client.Object](ctx context.Context, p *plane, list client.ObjectList, worth ...func(T) int) ([]*receipts, error) {
	if err := p.List(ctx, list, client.Limit(1)); err != nil {
		return nil, fmt.Errorf("listing %T: %w", list, err)
	}
	events, err := toolswatch.NewRetryWatcherWithContext(ctx, list.GetResourceVersion(), watcher{p, list})
	if err != nil {
		return nil, fmt.Errorf("watching %T: %w", list, err)
	}
	all := make([]*receipts, len(worth))
	for i := range all {
		all[i] = &receipts{seen: map[types.UID]receipt{}}
	}
	go func() {
		for event := range events.ResultChan() {
			now := time.Now()
			if object, ok := event.Object.(T); ok && event.Type != watch.Deleted {
				for i, r := range all {
					r.note(object.GetUID(), receipt{at: now, worth: worth[i](object)})
				}
			}
		}
	}()
	return all, nil
}

// watcher watches the kind of a list.
type watcher struct {
	plane *plane
	list  client.ObjectList
}

// WatchWithContext implements cache.WatcherWithContext.
func (w watcher) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return w.plane.Watch(ctx, w.list, &client.ListOptions{Raw: &options})
}

// once counts a matching object as one.
func once[T client.Object](is func(T) bool) func(T) int {
	return func(object T) int {
		if is(object) {
			return 1
		}
		return 0
	}
}

func (r *receipts) note(uid types.UID, now receipt) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.seen[uid]; !known && now.worth > 0 {
		r.seen[uid] = now
	}
}

// times are the first moments, in order, that are together worth so much, and what they are worth.
func (r *receipts) times(worth int) (out []time.Time, got int) {
	r.mu.Lock()
	all := make([]receipt, 0, len(r.seen))
	for _, one := range r.seen {
		all = append(all, one)
	}
	r.mu.Unlock()
	slices.SortFunc(all, func(a, b receipt) int { return a.at.Compare(b.at) })
	for _, one := range all {
		if got >= worth {
			break
		}
		out, got = append(out, one.at), got+one.worth
	}
	return out, got
}

// await waits for receipts that are together worth so much.
func (r *receipts) await(ctx context.Context, worth int, limit time.Duration, what string) ([]time.Time, error) {
	var out []time.Time
	err := await(ctx, limit, what, func() error {
		var got int
		if out, got = r.times(worth); got < worth {
			return fmt.Errorf("saw %d of %d", got, worth)
		}
		return nil
	})
	return out, err
}

// slowest is the longest time that an object took from the receipt in before to the one in r.
func (r *receipts) slowest(before *receipts) time.Duration {
	var out time.Duration
	for _, took := range r.since(before) {
		out = max(out, took)
	}
	return out
}

// mean is the mean time that an object took from the receipt in before to the one in r.
func (r *receipts) mean(before *receipts) time.Duration {
	all := r.since(before)
	var sum time.Duration
	for _, took := range all {
		sum += took
	}
	return sum / time.Duration(max(len(all), 1))
}

// since is how long each object that both received took from the receipt in before to the one in r.
func (r *receipts) since(before *receipts) (out []time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before.mu.Lock()
	defer before.mu.Unlock()
	for uid, one := range r.seen {
		if first, ok := before.seen[uid]; ok {
			out = append(out, one.at.Sub(first.at))
		}
	}
	return out
}

// widest is the longest pause between neighbours.
func widest(times []time.Time) time.Duration {
	var out time.Duration
	for i := 1; i < len(times); i++ {
		out = max(out, times[i].Sub(times[i-1]))
	}
	return out
}
