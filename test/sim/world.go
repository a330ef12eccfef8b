package sim

import (
	"cmp"
	"container/heap"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"sync"
	"testing/synctest"
	"time"
)

// errCrashed is what calls of a process that has crashed return. Nothing of it reaches the API server or the cloud.
var errCrashed = errors.New("the process has crashed")

// errInjected is the cause of errors that are injected.
var errInjected = errors.New("injected")

// World is the clock, the heap of events and the seed. Its methods are called from inside the bubble.
type World struct {
	// Trace is what has happened, and Choices what the seed chose of it.
	Trace   *Trace
	Choices []Choice

	seed    uint64
	streams map[string]*rand.Rand
	// draws counts what could have been chosen, by name; only is what may be chosen, nil for all.
	draws map[string]int
	only  map[Choice]bool

	mu     sync.Mutex
	events events
	next   uint64
	order  uint64
	// actor is what runs now, or ran last: calls are attributed to it.
	actor string
	// fresh are the events that were created since the last step. They have no time yet: goroutines create them in any order.
	fresh []*event
	// check is called after each step.
	check func()
	// explorer chooses instead of the seed; nil for none. last counts the events that it has put behind all others.
	explorer *explorer
	last     uint64
	// observed is the hash of what has been read since what runs now began.
	observed uint64
}

// event is something that happens at a time.
type event struct {
	at  time.Time
	seq uint64
	// actor is what created it; name says what it is.
	actor, name string
	// stream is what the delay is drawn from, between least and most.
	stream      string
	least, most time.Duration
	// fire runs on the goroutine of the World. It must not block: what may, is started as a goroutine.
	fire              func()
	index             int
	stopped, happened bool
	// process is the one that it belongs to, without which it does not happen; nil for none.
	process *Process
	// place is where in the program it was created, if that tells it from others of its name: goroutines that one step wakes create them in any order.
	place uint64
	// knows is what was observed by the goroutine that created it.
	knows uint64
}

// NewWorld returns a world at the start of the bubble's time.
func NewWorld(seed uint64) *World {
	return &World{seed: seed, streams: map[string]*rand.Rand{}, draws: map[string]int{}, Trace: newTrace(), check: func() {}}
}

// stream is the generator of a name. What is drawn from one does not change what others give.
func (w *World) stream(name string) *rand.Rand {
	s := w.streams[name]
	if s == nil {
		h := fnv.New64a()
		_, _ = h.Write([]byte(name))
		s = rand.New(rand.NewPCG(w.seed, h.Sum64())) //nolint:gosec // a simulation
		w.streams[name] = s
	}
	return s
}

// between draws a duration.
func (w *World) between(stream string, least, most time.Duration) time.Duration {
	if w.explorer != nil {
		return fixed(stream, least)
	}
	if most <= least {
		return least
	}
	return least + time.Duration(w.stream(stream).Int64N(int64(most-least)))
}

// after makes fire happen after a delay. It may be called by any goroutine that runs.
func (w *World) after(d time.Duration, name string, fire func()) *event {
	return w.soon(name, "", d, d, fire)
}

// soon makes fire happen after a delay that is drawn from a stream.
func (w *World) soon(name, stream string, least, most time.Duration, fire func()) *event {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next++
	e := &event{actor: w.actor, name: name, stream: stream, least: max(least, 0), most: most, fire: fire, index: -1, seq: w.next, knows: w.observed}
	w.fresh = append(w.fresh, e)
	return e
}

// stop keeps an event from happening, and reports whether that was in time.
func (w *World) stop(e *event) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e.stopped || e.happened {
		return false
	}
	e.stopped = true
	if e.index >= 0 {
		heap.Remove(&w.events, e.index)
	}
	return true
}

// pause parks the goroutine for a time that is drawn from a stream. Afterwards it runs as the same actor.
func (w *World) pause(name, stream string, least, most time.Duration) {
	w.pauseOf(nil, name, stream, least, most)
}

func (w *World) pauseOf(p *Process, name, stream string, least, most time.Duration) {
	wake, actor, knows := make(chan struct{}), w.acting(), uint64(0)
	e := w.soon(name, stream, least, most, func() {
		w.resume(actor, knows)
		close(wake)
	})
	knows, e.process = e.knows, p
	<-wake
}

// act says what runs from now on.
func (w *World) act(actor string) { w.resume(actor, 0) }

// resume says what runs from now on, and what it has observed before.
func (w *World) resume(actor string, observed uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.actor, w.observed = actor, observed
}

// acting is what runs now.
func (w *World) acting() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.actor
}

// settle waits until every goroutine waits, and gives the new events their times, in an order that does not depend on who came first.
func (w *World) settle() {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.SortFunc(w.fresh, func(a, b *event) int {
		return cmp.Or(cmp.Compare(a.actor, b.actor), cmp.Compare(a.name, b.name), cmp.Compare(a.place, b.place), cmp.Compare(a.seq, b.seq))
	})
	now := time.Now()
	for _, e := range w.fresh {
		if e.stopped {
			continue
		}
		w.order++
		e.seq, e.at = w.order, now.Add(w.between(e.stream, e.least, e.most))
		heap.Push(&w.events, e)
	}
	clear(w.fresh) // what is behind the end would keep processes that have crashed
	w.fresh = w.fresh[:0]
}

// Step lets one event happen. It returns false if there is none before until.
func (w *World) Step(until time.Time) bool {
	w.settle()
	w.mu.Lock()
	if len(w.events) == 0 || w.events[0].at.After(until) {
		w.mu.Unlock()
		return false
	}
	e, _ := heap.Pop(&w.events).(*event)
	w.mu.Unlock()
	if d := time.Until(e.at); d > 0 {
		time.Sleep(d) // the bubble's time: everything else waits
	}
	if w.explorer != nil {
		synctest.Wait() // for what a library does at the same time
	}
	if w.frozen(e) || w.explorer != nil && w.explorer.decide(w, e) {
		return true
	}
	e.happened = true
	w.act(e.name)
	w.Trace.add(e.at, e.name+" < "+e.actor)
	e.fire()
	w.settle()
	w.check()
	return true
}

// frozen puts an event back whose process stands still.
func (w *World) frozen(e *event) bool {
	if e.process == nil || !e.process.thaws().After(time.Now()) {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.order++
	e.at, e.seq = e.process.thaws(), w.order // in the order in which they were due
	heap.Push(&w.events, e)
	return true
}

// Run lets events happen for a time.
func (w *World) Run(d time.Duration) {
	until := time.Now().Add(d)
	for w.Step(until) {
	}
	if left := time.Until(until); left > 0 {
		time.Sleep(left)
	}
}

// events is a heap by time, and by order of creation for equal times.
type events []*event

func (h events) Len() int { return len(h) }
func (h events) Less(i, j int) bool {
	return h[i].at.Before(h[j].at) || h[i].at.Equal(h[j].at) && h[i].seq < h[j].seq
}

func (h events) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *events) Push(x any) {
	e, _ := x.(*event)
	e.index = len(*h)
	*h = append(*h, e)
}

func (h *events) Pop() any {
	old := *h
	e := old[len(old)-1]
	e.index, old[len(old)-1] = -1, nil // as in settle
	*h = old[:len(old)-1]
	return e
}

// Trace is a running hash over what happened: the time and the name of each step, and on request every write with its content.
type Trace struct {
	// Steps is their number.
	Steps int
	// Writes includes the content of writes.
	Writes bool
	// Lines are all steps in words, if Recorded is set.
	Recorded bool
	Lines    []string

	hash uint64
}

func newTrace() *Trace { return &Trace{hash: fnv.New64a().Sum64()} }

func (t *Trace) add(at time.Time, what string) {
	t.Steps++
	h := fnv.New64a()
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:8], t.hash)
	binary.LittleEndian.PutUint64(b[8:], uint64(at.UnixNano())) //nolint:gosec // a hash
	_, _ = h.Write(b[:])
	_, _ = h.Write([]byte(what))
	t.hash = h.Sum64()
	if t.Recorded {
		t.Lines = append(t.Lines, at.UTC().Format("15:04:05.000000")+" "+what)
	}
}

// Hash is that of all steps.
func (t *Trace) Hash() uint64 { return t.hash }
