// Package parallel calls a function for many items, with a limit on how many calls run at a time.
package parallel

import (
	"golang.org/x/sync/errgroup"

	"github.com/karpenter-anew/karpenter/internal/controller/recovery"
)

// ForEach calls f for every item, at most atOnce at a time, and returns their errors in the order of the items. It calls f for every
// item, even after an error. A panic of f continues in the caller once all calls have ended.
func ForEach[T any](items []T, atOnce int, f func(T) error) []error {
	errs := make([]error, len(items))
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i, item := range items {
		group.Go(func() error {
			errs[i] = recovery.Call(func() error { return f(item) })
			return nil
		})
	}
	_ = group.Wait() // the functions report through errs
	recovery.Rethrow(errs)
	return errs
}
