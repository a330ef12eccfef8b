// Package batch makes one call of many that come at the same time. Requests gather for as long as others keep coming; then
// each group of requests that may share a call makes it.
//
// No goroutine is started: the first caller of a group makes the call for all of them, and the others wait for it.
//
// Source: AWS provider specification, request batching.
package batch

import (
	"context"
	"errors"
	"sync"
	"time"
)

// errNoResult is what a request gets for which the call gave neither a result nor an error.
var errNoResult = errors.New("error making call")

// defaultParallel is how many calls run at the same time.
const defaultParallel = 100

// Options say how long requests gather.
type Options struct {
	// Idle is how long no request may have come for a window to close.
	Idle time.Duration
	// Max is how long a window lasts at most.
	Max time.Duration
	// Items is how many requests close a window at once.
	Items int
	// Parallel is how many calls run at the same time; 0 means 100.
	Parallel int
	// Observe receives the size of each batch and how long its first request waited; may be nil.
	Observe func(size int, waited time.Duration)
}

// Result is what one request gets.
type Result[R any] struct {
	Value R
	Err   error
}

// Batcher gathers requests of type Q with results of type R. It is made by New and may be used from many goroutines.
type Batcher[Q, R any] struct {
	options Options
	bucket  func(Q) string
	call    func(context.Context, []Q) []Result[R]
	slots   chan struct{}

	mu     sync.Mutex
	window *window[Q, R]
}

// window is the time in which requests gather.
type window[Q, R any] struct {
	opened time.Time
	count  int
	groups map[string]*group[Q, R]
	timer  *time.Timer
	closed chan struct{}
}

// group are the requests of a window that share a call.
type group[Q, R any] struct {
	requests []Q
	results  []Result[R]
	// done is closed once the results are there.
	done chan struct{}
}

// New makes a batcher. Requests with the same bucket share a call; call gets them in the order in which they came, and gives
// their results in the same order.
func New[Q, R any](options Options, bucket func(Q) string, call func(context.Context, []Q) []Result[R]) *Batcher[Q, R] {
	if options.Parallel == 0 {
		options.Parallel = defaultParallel
	}
	return &Batcher[Q, R]{options: options, bucket: bucket, call: call, slots: make(chan struct{}, options.Parallel)}
}

// Do waits for further requests, makes the call or waits for the caller that makes it, and returns the request's result. A caller that
// cancels while it waits does not affect the others: the call is made anyway.
func (b *Batcher[Q, R]) Do(ctx context.Context, request Q) (R, error) {
	w, g, index := b.join(request)
	if index == 0 {
		<-w.closed
		b.run(ctx, w, g)
	}
	select {
	case <-g.done:
	case <-ctx.Done():
		// Both may be true; what is there counts.
		select {
		case <-g.done:
		default:
			var none R
			return none, ctx.Err()
		}
	}
	if index >= len(g.results) {
		var none R
		return none, errNoResult
	}
	return g.results[index].Value, g.results[index].Err
}

// join adds a request to the open window, or opens one, and returns its place in its group.
func (b *Batcher[Q, R]) join(request Q) (*window[Q, R], *group[Q, R], int) {
	key := b.bucket(request)
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.window
	if w == nil {
		w = &window[Q, R]{opened: time.Now(), groups: map[string]*group[Q, R]{}, closed: make(chan struct{})}
		w.timer = time.AfterFunc(min(b.options.Idle, b.options.Max), func() { b.close(w) })
		b.window = w
	} else {
		w.timer.Reset(max(0, min(b.options.Idle, b.options.Max-time.Since(w.opened))))
	}
	g := w.groups[key]
	if g == nil {
		g = &group[Q, R]{done: make(chan struct{})}
		w.groups[key] = g
	}
	g.requests = append(g.requests, request)
	w.count++
	if w.count >= b.options.Items {
		b.shut(w)
	}
	return w, g, len(g.requests) - 1
}

// close ends a window when its time is over.
func (b *Batcher[Q, R]) close(w *window[Q, R]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shut(w)
}

// shut ends a window, once. The lock is held.
func (b *Batcher[Q, R]) shut(w *window[Q, R]) {
	if b.window != w {
		return
	}
	b.window = nil
	w.timer.Stop()
	close(w.closed)
}

// run makes the call of a group. Its context keeps the values of the first caller's, but not its end: the others did not give
// up.
func (b *Batcher[Q, R]) run(ctx context.Context, w *window[Q, R], g *group[Q, R]) {
	b.slots <- struct{}{}
	defer func() { <-b.slots }()
	// Also if the call panics: the other callers must not wait forever.
	defer close(g.done)
	if b.options.Observe != nil {
		b.options.Observe(len(g.requests), time.Since(w.opened))
	}
	g.results = b.call(context.WithoutCancel(ctx), g.requests)
}
