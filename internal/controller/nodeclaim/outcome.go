package nodeclaim

import (
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
)

// claimID identifies one NodeClaim for ever, unlike its name.
type claimID = types.UID

// outcome is what a step of a pass asks for. The zero value asks for nothing.
type outcome struct {
	// after is when to look again; zero means never.
	after time.Duration
	// again asks for a retry through the rate limiter.
	again bool
	err   error
	// ended says that the claim has been given up: no later step may look at it.
	ended bool
	// onceSaved are effects, such as counters, that happen only once the decision is persisted. Otherwise a failed
	// write would repeat them.
	onceSaved []func()
}

// and combines the outcomes of two steps: the earliest wake-up, every error, every effect.
func (o outcome) and(next outcome) outcome {
	o.after = sooner(o.after, next.after)
	o.again = o.again || next.again
	o.err = errors.Join(o.err, next.err)
	o.ended = o.ended || next.ended
	o.onceSaved = append(o.onceSaved, next.onceSaved...)
	return o
}

// result is the answer to the work queue: errors first, then a paced retry, then the earliest wake-up.
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

// sooner is the smaller of two waits, where zero means none.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
