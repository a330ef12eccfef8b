package provisioning

import "time"

// rhythm adapts the idle duration of batches to pods that arrive one after the other.
//
// Problem: pods that arrive at intervals just above the idle duration get a pass each, and each pass launches small nodes, although few
// large batches would share larger ones. Approach: if the first pod after a batch that closed because it was idle arrives within twice
// the idle duration, counted from the last pod of the batch, the batch was closed too early, and the idle duration doubles, up to a
// quarter of the longest batch. A longer pause restores the configured duration, at once. Invariant: a pod that arrives after such a
// pause waits for the configured duration only. Source: scheduling specification, weakness D31.
type rhythm struct {
	// base is the configured idle duration, longest the maximum of the adapted one.
	base, longest time.Duration
	// idle is the adapted idle duration.
	idle time.Duration
	// last is when the last pod arrived; zero before the first one.
	last time.Time
	// wasIdle is set between a batch that closed because it was idle and the first pod after it.
	wasIdle bool
}

func newRhythm(idle, longestBatch time.Duration) rhythm {
	return rhythm{base: idle, longest: max(idle, longestBatch/4), idle: idle}
}

// open records the first arrival of a batch, and adapts the idle duration.
func (r *rhythm) open(now time.Time) {
	next := min(2*r.idle, r.longest)
	switch {
	case r.last.IsZero() || now.Sub(r.last) > next:
		r.idle = r.base
	case r.wasIdle:
		r.idle = next
	}
	r.last, r.wasIdle = now, false
}
