// Package parallel calls a function for many items, with a limit on how many calls run at a time. Controllers start no goroutines beside
// those that this package, controller-runtime, and the watches of the cluster state start.
package parallel

import (
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/karpenter-anew/karpenter/internal/controller/recovery"
)

// ForEach calls f for every item, at most atOnce at a time, and returns their errors in the order of the items. It calls f for every
// item, even after an error. A panic of f continues in the caller once all calls have ended.
func ForEach[T any](items []T, atOnce int, f func(T) error) []error {
	return Times(len(items), atOnce, func(i int) error { return f(items[i]) })
}

// Times is ForEach for the numbers from 0 to n-1.
func Times(n, atOnce int, f func(i int) error) []error {
	errs := make([]error, n)
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i := range n {
		begin := order()
		group.Go(func() error {
			begin()
			errs[i] = recovery.Call(func() error { return f(i) })
			return nil
		})
	}
	_ = group.Wait() // the functions report through errs
	recovery.Rethrow(errs)
	return errs
}

// Go calls f in a goroutine that group waits for.
func Go(group *sync.WaitGroup, f func()) {
	begin := order()
	group.Go(func() {
		begin()
		f()
	})
}

// turns is what Turns has set; nil in production.
var turns atomic.Pointer[turnstile] //nolint:gochecknoglobals // a parameter would be in the way of every caller

type turnstile struct {
	calls atomic.Int64
	wait  func(call int64)
}

// Turns makes each call that this package starts wait for f before it begins; nil ends that. It is for simulations that let one goroutine
// run at a time, in an order that follows from a seed: goroutines that start together would begin in any. call is the number of the call.
func Turns(f func(call int64)) {
	if f == nil {
		turns.Store(nil)
		return
	}
	turns.Store(&turnstile{wait: f})
}

// order numbers a call. The goroutine that makes it runs what is returned first.
func order() (begin func()) {
	t := turns.Load()
	if t == nil {
		return func() {}
	}
	call := t.calls.Add(1)
	return func() { t.wait(call) }
}
