package operator

import (
	"context"
	"errors"
	"time"
)

// drain lets reconciles in progress finish after a stop was requested.
//
// Problem: the context of a reconcile ends the moment the process receives a stop signal, so its next write would fail half way through, for
// example between the launch of an instance and the record of it. Every step can be repeated, so no work would be lost, but every
// rolling update would leave partial changes to repair.
//
// Approach: calls to the API server run on a context that ignores the stop, and only the stop: a deadline, or a cancellation while the
// process is not stopping (a lost lease above all), still ends them at once. All calls end after the grace time.
type drain struct {
	stopping context.Context // ends when the stop is requested
	over     context.Context // ends when the grace time is over
	end      context.CancelFunc
}

// newDrain derives the grace time from the context that ends when the stop is requested.
func newDrain(stopping context.Context, grace time.Duration) *drain {
	over, end := context.WithCancel(context.WithoutCancel(stopping))
	context.AfterFunc(stopping, func() {
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-timer.C:
			end()
		case <-over.Done():
		}
	})
	return &drain{stopping: stopping, over: over, end: end}
}

// detach returns a context for one call, and what to call when it is done.
func (d *drain) detach(ctx context.Context) (context.Context, context.CancelFunc) {
	call, cancel := context.WithoutCancel(ctx), context.CancelFunc(nil)
	if deadline, ok := ctx.Deadline(); ok {
		call, cancel = context.WithDeadline(call, deadline)
	} else {
		call, cancel = context.WithCancel(call)
	}
	stopOwn := context.AfterFunc(ctx, func() {
		deadline := errors.Is(ctx.Err(), context.DeadlineExceeded) // which the call has as well, and reports as such
		if d.stopping.Err() == nil && !deadline {
			cancel()
		}
	})
	stopOver := context.AfterFunc(d.over, cancel)
	return call, func() {
		stopOwn()
		stopOver()
		cancel()
	}
}

// reading is detach for reads, which may be repeated: it has no cost until the stop is requested.
func (d *drain) reading(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Err() == nil {
		return ctx, func() {}
	}
	return d.detach(ctx)
}
