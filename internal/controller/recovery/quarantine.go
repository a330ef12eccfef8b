package recovery

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// Problem: a pass over many objects panics because of one of them, and the panic does not say which.
// Approach: after tolerated panics in a row, the newer half of the objects that no pass has succeeded with is left out. When a
// pass succeeds without them, the older half of them returns. An object that is the only suspect of a panic is left out by itself,
// for a time that doubles with every further panic.
// Invariant: every panic halves the suspects or leaves one object out by itself, and every success returns an object.
// Cost: about two passes for each halving, 20 for one cause among 1 000 objects.

const (
	// tolerated is how many panics in a row change nothing: a pass may panic because of something that is gone the next time.
	tolerated = 1
	// minAside and maxAside bound the time for which an object is left out by itself.
	minAside, maxAside = time.Minute, time.Hour
)

// Item is an object that a pass works on.
type Item struct {
	ID string
	// Created is in nanoseconds since the epoch.
	Created int64
}

// Quarantine has the objects that passes leave out because passes with them panicked. It is safe for concurrent use.
type Quarantine struct {
	mu sync.Mutex
	// panics is the number of panics since the last pass that succeeded.
	panics int
	// searching is set from the first panic that leaves objects out to a pass that succeeds with all but known causes.
	searching bool
	// cleared are objects with which a pass succeeded since searching was set.
	cleared map[string]bool
	// suspects are left out until a pass succeeds.
	suspects []Item
	// aside are the objects that are left out by themselves, or were until recently.
	aside map[string]*term
}

// term is the time for which an object is left out.
type term struct {
	delays wait.Backoff
	until  time.Time
}

// NewQuarantine returns an empty quarantine.
func NewQuarantine() *Quarantine {
	return &Quarantine{cleared: map[string]bool{}, aside: map[string]*term{}}
}

// Out are the IDs of the objects that passes leave out now, with the end of that time; zero when it depends on other objects.
func (q *Quarantine) Out(now time.Time) map[string]time.Time {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.suspects) == 0 && len(q.aside) == 0 {
		return nil
	}
	out := map[string]time.Time{}
	for _, i := range q.suspects {
		out[i.ID] = time.Time{}
	}
	for id, t := range q.aside {
		if now.Before(t.until) {
			out[id] = t.until
		}
	}
	return out
}

// Searching reports whether a later pass has to try objects that were left out.
func (q *Quarantine) Searching() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.searching
}

// Keep forgets the objects that no longer exist.
func (q *Quarantine) Keep(exists func(id string) bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.suspects = slices.DeleteFunc(q.suspects, func(i Item) bool { return !exists(i.ID) })
	for id := range q.aside {
		if !exists(id) {
			delete(q.aside, id)
		}
	}
	for id := range q.cleared {
		if !exists(id) {
			delete(q.cleared, id)
		}
	}
}

// Panicked records that a pass with these objects panicked, and returns the IDs of those that the next passes leave out in
// addition.
func (q *Quarantine) Panicked(items []Item, now time.Time) []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.panics++
	if known := q.relapsed(items); len(known) > 0 {
		return q.leaveOut(known, now)
	}
	if q.panics <= tolerated && !q.searching {
		return nil
	}
	q.searching = true
	list := slices.DeleteFunc(slices.Clone(items), func(i Item) bool { return q.cleared[i.ID] })
	if len(list) == 0 { // the objects do not work together, although they do in parts
		clear(q.cleared)
		list = slices.Clone(items)
	}
	if len(list) <= 1 {
		return q.leaveOut(list, now)
	}
	slices.SortFunc(list, byAge)
	newer := list[len(list)/2:]
	q.suspects = append(q.suspects, newer...)
	return idsOf(newer)
}

// Succeeded records that a pass with these objects did not panic. Objects that were left out may return.
func (q *Quarantine) Succeeded(items []Item) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.panics = 0
	for _, i := range items {
		delete(q.aside, i.ID)
	}
	if len(q.suspects) == 0 {
		q.searching = false
		clear(q.cleared)
		return
	}
	for _, i := range items {
		q.cleared[i.ID] = true
	}
	slices.SortFunc(q.suspects, byAge)
	q.suspects = slices.Delete(q.suspects, 0, (len(q.suspects)+1)/2)
}

// relapsed are the objects that were left out by themselves before.
func (q *Quarantine) relapsed(items []Item) []Item {
	return slices.DeleteFunc(slices.Clone(items), func(i Item) bool { return q.aside[i.ID] == nil })
}

func (q *Quarantine) leaveOut(items []Item, now time.Time) []string {
	for _, i := range items {
		t := q.aside[i.ID]
		if t == nil {
			t = &term{delays: wait.Backoff{Duration: minAside, Factor: 2, Cap: maxAside, Steps: math.MaxInt}}
			q.aside[i.ID] = t
		}
		t.until = now.Add(t.delays.Step())
	}
	return idsOf(items)
}

// byAge sorts the oldest first.
func byAge(a, b Item) int {
	return cmp.Or(cmp.Compare(a.Created, b.Created), strings.Compare(a.ID, b.ID))
}

func idsOf(items []Item) []string {
	out := make([]string, len(items))
	for i, item := range items {
		out[i] = item.ID
	}
	return out
}
