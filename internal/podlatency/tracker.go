// Package podlatency tracks how long pods wait: when each was first seen, when the first decision about it was made, and since when it
// can be scheduled.
//
// The tracker serves metrics only: it is empty after a restart, and unknown durations are not recorded. Its size is
// bounded by the pods that exist: only Observe adds a pod, and Forget removes it.
//
// Source: scheduling specification, nomination and decisions.
package podlatency

import (
	"sync"
	"time"
)

// Times are the times of one pod. A zero time is an event that has not happened.
type Times struct {
	// Seen is when the pod was first seen waiting.
	Seen time.Time
	// Decided is when the first decision about it was made: that it can be scheduled, or that it cannot.
	Decided time.Time
	// Placed is since when it can be scheduled.
	Placed time.Time
	// PlacedHealthy is since when it can be scheduled on a node whose NodePool is not known to be unhealthy.
	PlacedHealthy time.Time
}

// Tracker has the times of all pods, by UID. It is safe for concurrent use; the zero value is an empty tracker.
type Tracker struct {
	mu   sync.Mutex
	pods map[string]*Times
}

// Observe records that a pod waits, and reports whether this is the first time. Only the first time counts.
func (b *Tracker) Observe(uid string, now time.Time) (first bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pods == nil {
		b.pods = map[string]*Times{}
	}
	if b.pods[uid] != nil {
		return false
	}
	b.pods[uid] = &Times{Seen: now}
	return true
}

// RecordUnschedulable records that a pod cannot be scheduled, which ends an earlier placement. If this is the first decision about the
// pod, it returns the time since the pod was seen.
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

// RecordPlacement records that a pod can be scheduled; healthy unless the NodePool is known to be unhealthy. The first placement since
// the pod was last unschedulable counts. If this is the first decision about the pod, it returns the time since the pod was seen.
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

// Forget removes a pod that is gone.
func (b *Tracker) Forget(uid string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.pods, uid)
}

// Get returns the times of a pod.
func (b *Tracker) Get(uid string) (Times, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t := b.pods[uid]; t != nil {
		return *t, true
	}
	return Times{}, false
}

// decide records a decision.
func (t *Times) decide(now time.Time) (waited time.Duration, first bool) {
	if !t.Decided.IsZero() {
		return 0, false
	}
	t.Decided = now
	return now.Sub(t.Seen), true
}
