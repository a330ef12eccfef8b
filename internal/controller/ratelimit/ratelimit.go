// Package ratelimit paces the retries of a controller.
//
// Source: spec operator, concurrency and rate limits.
package ratelimit

import (
	"time"

	"golang.org/x/time/rate"
	"k8s.io/client-go/util/workqueue"
)

// New returns a rate limiter for the queue of a controller: the delay of each item starts at base and doubles up to most, and all
// items together share a token bucket of qps tokens a second. The longer delay of the two applies.
func New[T comparable](base, most time.Duration, qps, burst int) workqueue.TypedRateLimiter[T] {
	return workqueue.NewTypedMaxOfRateLimiter(
		workqueue.NewTypedItemExponentialFailureRateLimiter[T](base, most),
		&workqueue.TypedBucketRateLimiter[T]{Limiter: rate.NewLimiter(rate.Limit(qps), burst)},
	)
}
