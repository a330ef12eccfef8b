// Package podlatency remembers how long pods have been waiting: when each was first seen, when something was first decided about
// it, and since when there is a place for it.
//
// It is a memory of convenience for metrics: after a restart it begins anew, and what it does not know is not told. Its size
// is bounded by the pods that exist: only See adds a pod, and a pod that is gone is forgotten, whatever is decided about it
// meanwhile.
//
// Source: scheduling specification, nomination and decisions.
package podlatency

import (
	"sync"
	"time"
)

// Times is what is known about one pod. A zero time stands for what has not happened.
type Times struct {
	// Seen is when the pod was first seen waiting.
	Seen time.Time
	// Decided is when the first verdict about it was reached, whichever way.
	Decided time.Time
	// Placed is since when there is a place for it.
	Placed time.Time
	// PlacedHealthy is since when there is a place for it whose pool brings its nodes up, as far as is known.
	PlacedHealthy time.Time
}

// Book holds the times of all pods, by UID. It is safe for concurrent use; the zero value is an empty book.
type Tracker struct {
	mu   sync.Mutex
	pods map[string]*Times
}

// See notes that a pod waits. Only the first time counts.
func (b *Tracker) Observe(uid string, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pods == nil {
		b.pods = map[string]*Times{}
	}
	if b.pods[uid] == nil {
		b.pods[uid] = &Times{Seen: now}
	}
}

// Refuse notes that there is no place for a pod, so that what was promised before does not hold any more. If this is the
// first verdict about it, it reports how long that took since the pod was seen.
func (b *Tracker) RecordUnschedulable(uid string, now time.Time) (waited time.Duration, first bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.pods[uid]
	if t == nil {
		return 0, false
	}
	t.Placed, t.PlacedHealthy = time.Time{}, time.Time{}
	return t.decide(now)
}

// Place notes that there is a place for a pod, healthy when the pool it belongs to brings its nodes up. Of several such
// notes the first since the last refusal counts. If this is the first verdict about the pod, it reports how long that took
// since the pod was seen.
func (b *Tracker) RecordPlacement(uid string, healthy bool, now time.Time) (waited time.Duration, first bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.pods[uid]
	if t == nil {
		return 0, false
	}
	if t.Placed.IsZero() {
		t.Placed = now
	}
	switch {
	case !healthy:
		t.PlacedHealthy = time.Time{}
	case t.PlacedHealthy.IsZero():
		t.PlacedHealthy = now
	}
	return t.decide(now)
}

// Forget drops a pod that is gone.
func (b *Tracker) Forget(uid string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.pods, uid)
}

// Of is what is known about a pod.
func (b *Tracker) Get(uid string) (Times, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t := b.pods[uid]; t != nil {
		return *t, true
	}
	return Times{}, false
}

// decide notes a verdict.
func (t *Times) decide(now time.Time) (waited time.Duration, first bool) {
	if !t.Decided.IsZero() {
		return 0, false
	}
	t.Decided = now
	return now.Sub(t.Seen), true
}
