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

// actor is who makes an event happen. Of what happens at the same moment, the controller acts first, and does all that it does at this moment: it
// has decided before the others change anything.
type actor int

const (
	controller actor = iota
	// environment is all but the controller: kubelets, kube-scheduler, the owners of pods, the cloud.
	environment
)

// event is something that happens at a time.
type event struct {
	at time.Time
	by actor
	// serial is the place of the event among all: of those of an actor at the same time, the one that was planned first happens first.
	serial int
	do     func()
}

// plan adds an event of the environment, now if its time has passed; order adds one of the controller.
func (r *run) plan(at time.Time, do func()) { add(r, event{at: at, by: environment, do: do}) }

func (r *run) order(at time.Time, do func()) { add(r, event{at: at, by: controller, do: do}) }

func add(r *run, e event) {
	r.serial++
	e.at, e.serial = later(e.at, r.now), r.serial
	i, _ := slices.BinarySearchFunc(r.events, e, func(a, b event) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.by, b.by), cmp.Compare(a.serial, b.serial))
	})
	r.events = slices.Insert(r.events, i, e)
}

// happen lets all events of an actor happen that are due.
func (r *run) happen(by actor) {
	for len(r.events) > 0 && !r.events[0].at.After(r.now) && r.events[0].by <= by {
		e := r.events[0]
		r.events = r.events[1:]
		e.do()
	}
}

// react lets happen what the environment does at now. Then pods that wait start where there is capacity.
func (r *run) react(ctx context.Context) error {
	r.happen(environment)
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
