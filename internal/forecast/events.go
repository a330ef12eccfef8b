package forecast

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// reaction is how long kubelets, kube-scheduler and the owners of pods take to react to a change: the controller has written all that it changes
// at a moment before any of them sees it.
const reaction = 10 * time.Millisecond

// event is something that happens at a time.
type event struct {
	at time.Time
	// serial is the place of the event among all: of those at the same time, the one that was planned first happens first.
	serial int
	do     func()
}

// plan adds an event, now if its time has passed.
func (r *run) plan(at time.Time, do func()) {
	r.serial++
	e := event{at: later(at, r.now), serial: r.serial, do: do}
	i, _ := slices.BinarySearchFunc(r.events, e, func(a, b event) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.serial, b.serial)) })
	r.events = slices.Insert(r.events, i, e)
}

// happen lets all events of now happen. Then pods that wait start where there is capacity.
func (r *run) happen(ctx context.Context) error {
	for len(r.events) > 0 && !r.events[0].at.After(r.now) {
		e := r.events[0]
		r.events = r.events[1:]
		e.do()
	}
	if !r.unsettled {
		return nil
	}
	r.unsettled = false
	return r.schedule(ctx)
}

// earliest is the first of times that are not zero; zero if all are.
func earliest(times ...time.Time) time.Time {
	var first time.Time
	for _, t := range times {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
