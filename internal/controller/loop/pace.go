package loop

import (
	"context"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Limiter paces retries: each item waits from base doubling up to most, and all items together share a token bucket of
// qps tokens a second. The slower of the two rules.
func Limiter[T comparable](base, most time.Duration, qps, burst int) workqueue.TypedRateLimiter[T] {
	return workqueue.NewTypedMaxOfRateLimiter(
		workqueue.NewTypedItemExponentialFailureRateLimiter[T](base, most),
		&workqueue.TypedBucketRateLimiter[T]{Limiter: rate.NewLimiter(rate.Limit(qps), burst)},
	)
}

// Singleton is a source that starts a controller which works on no object in particular: it asks for one reconcile
// when the controller starts, and the controller asks for the next ones itself.
func Singleton() source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		queue.Add(reconcile.Request{})
		return nil
	})
}
