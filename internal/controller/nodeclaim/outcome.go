package nodeclaim

import (
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
)

// claimID is the UID of a NodeClaim; names can be reused.
type claimID = types.UID

// outcome is the result of a step of a pass. The zero value requeues nothing.
type outcome struct {
	// after is the delay before the next pass; zero means none.
	after time.Duration
	// again requeues through the rate limiter.
	again bool
	err   error
	// ended is set when the NodeClaim was deleted: no later step may run.
	ended bool
	// onceSaved are effects, such as counters, that run once the decision is persisted, so that a failed write does not repeat them.
	onceSaved []func()
}

// and combines the outcomes of two steps: the shortest delay, every error, every effect.
func (o outcome) and(next outcome) outcome {
	o.after = sooner(o.after, next.after)
	o.again = o.again || next.again
	o.err = errors.Join(o.err, next.err)
	o.ended = o.ended || next.ended
	o.onceSaved = append(o.onceSaved, next.onceSaved...)
	return o
}

// result is the result of the reconcile: an error first, then a rate-limited retry, then the shortest delay.
func (o outcome) result() (reconcile.Result, error) {
	switch {
	case o.err != nil:
		return reconcile.Result{}, o.err
	case o.again:
		return requeue.Soon(), nil
	default:
		return requeue.After(o.after), nil
	}
}

// sooner is the shorter of two delays, where zero means none.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
