package sim

import (
	"cmp"
	"container/heap"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// The actions that an explorer may choose for an event, beside letting it happen when its turn comes.
const (
	// Last lets everything else that happens at the same time go first.
	Last = "last"
	// Late postpones the event by lateBy.
	Late = "late"
	// Crash ends the process before the event happens: after a write or a call of the cloud, before it knows the answer.
	Crash = "crash"
)

const (
	// lateBy is how long a late event is postponed: longer than the interval at which pending pods are looked at again (10 s).
	lateBy = 15 * time.Second
	// instant is the delay below which events take no time in an exploration, so that the order of steps is what differs, not the time.
	instant = 100 * time.Millisecond
)

// lastSeq is less than the numbers of events that are put last.
const lastSeq = math.MaxUint64 / 2

// last reports whether the event was put last.
func (e *event) last() bool { return e.seq > lastSeq }

// Alphabet is what an exploration may choose. The streams of events are those of World.soon.
type Alphabet struct {
	// Watches are the kinds whose watches may be last or late.
	Watches []string
	// Queues are the controllers whose items may be last, by the prefix of the name of their queue; Writes the kinds whose writes may be.
	Queues, Writes []string
	// Actors are those that may be late: kube-scheduler, kubelets, the cloud.
	Actors []string
	// Crashes is how many crashes there may be in a run.
	Crashes int
}

// options are the actions that may be chosen for an event.
func (a *Alphabet) options(e *event, crashes int) (out []string) {
	kind := func(kinds []string, of string) bool {
		return slices.ContainsFunc(kinds, func(k string) bool { return strings.Contains(of+" ", " "+k+" ") })
	}
	switch e.stream {
	case "watch":
		if kind(a.Watches, e.name) {
			out = append(out, Last, Late)
		}
	case "queue":
		if slices.ContainsFunc(a.Queues, func(q string) bool { return strings.HasPrefix(e.name, q+" ") }) {
			out = append(out, Last)
		}
	case "request":
		if reads(e.name) {
			return nil
		}
		if kind(a.Writes, e.name) {
			out = append(out, Last)
		}
	case "response":
		if !reads(e.name) && kind(a.Writes, e.name) && crashes < a.Crashes {
			out = append(out, Crash)
		}
	case "cloud":
		if reads(strings.TrimPrefix(e.name, "cloud ")) {
			return nil
		}
		if slices.Contains(a.Actors, "cloud") {
			out = append(out, Late)
		}
		if strings.HasSuffix(e.name, " answered") && crashes < a.Crashes {
			out = append(out, Crash)
		}
	default:
		if slices.Contains(a.Actors, e.stream) {
			out = append(out, Late)
		}
	}
	return out
}

func reads(call string) bool {
	return strings.HasPrefix(call, "get ") || strings.HasPrefix(call, "list")
}

// Point is a step at which an exploration may choose.
type Point struct {
	// Event is what comes next, and N which event of that name it is.
	Event string
	N     int
	// Options are the actions that may be chosen. State is the hash of the state.
	Options []string
	State   uint64
}

// choice is what a case has for an action at the point.
func (p Point) choice(action string) Choice { return Choice{action + " " + p.Event, p.N} }

// explorer decides what happens to each event of a run, by a plan.
type explorer struct {
	alphabet *Alphabet
	plan     map[Choice]bool
	// depth is the number of points; after them everything happens when its turn comes.
	depth int
	// state is the hash of the state in which an event is next, and known reports whether the rest of the run is explored, and needs not to go on.
	state func(next *event) uint64
	known func(at int, p Point) bool
	crash func()

	on      bool
	seen    map[string]int
	crashes int
	points  []Point
	// taken are the choices of the plan that were met, and last is the number of points up to the last one; stopped is set once the rest is known.
	taken   []Choice
	last    int
	stopped bool
}

// decide reports whether an event whose turn has come is put back.
func (x *explorer) decide(w *World, e *event) (held bool) {
	if !x.on || x.stopped || len(x.points) >= x.depth {
		return false
	}
	options := x.alphabet.options(e, x.crashes)
	if len(options) == 0 {
		return false
	}
	x.seen[e.name]++
	p := Point{Event: e.name, N: x.seen[e.name], Options: options, State: x.state(e)}
	at := len(x.points)
	x.points = append(x.points, p)
	for _, action := range options {
		if c := p.choice(action); x.plan[c] {
			x.taken, x.last = append(x.taken, c), at+1
			return x.do(w, e, action)
		}
	}
	if len(x.taken) == len(x.plan) && x.known(at, p) {
		x.stopped = true
	}
	return false
}

func (x *explorer) do(w *World, e *event, action string) (held bool) {
	switch action {
	case Crash:
		x.crashes++
		x.crash()
		return false
	case Late:
		e.at = e.at.Add(lateBy)
	case Last:
		w.last++
		e.seq = lastSeq + w.last
	default:
		panic("no such action: " + action)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	heap.Push(&w.events, e)
	return true
}

// pending are the events that wait, in the order in which they happen.
func (w *World) pending() []*event {
	out := slices.Clone(w.events)
	slices.SortFunc(out, func(a, b *event) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.seq, b.seq)) })
	return out
}

// fixed is the delay of an event in an exploration.
func fixed(stream string, least time.Duration) time.Duration {
	if stream != "" && least < instant {
		return 0
	}
	return least
}

// String is a point in words.
func (p Point) String() string { return fmt.Sprintf("%s %d %v", p.Event, p.N, p.Options) }
