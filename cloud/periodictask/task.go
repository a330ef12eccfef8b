// Package periodictask runs what a provider does from time to time: refresh what it knows of its cloud, and delete what nothing needs.
package periodictask

import (
	"cmp"
	"context"
	"time"

	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

const (
	// retryFirst and retryLongest limit the delay before a failed task is retried, unless it has its own limit.
	retryFirst   = time.Second
	retryLongest = time.Minute
)

// Task is a periodic task of the leader.
type Task struct {
	Name string
	// Every is how long to wait after the n-th success, counted from 1; negative for never again.
	Every func(n int) time.Duration
	Run   func(context.Context) error
	// RetryMax is the longest delay before a failed task is retried; 0 for a minute.
	RetryMax time.Duration
	Clock    clock.Clock
}

// Always is the same interval after each success.
func Always(d time.Duration) func(int) time.Duration { return func(int) time.Duration { return d } }

// NeedLeaderElection implements manager.LeaderElectionRunnable: one replica is enough.
func (Task) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable.
func (j Task) Start(ctx context.Context) error {
	logger := observe.Log(ctx).With(logfield.Controller(j.Name))
	retry := retryFirst
	for done := 0; ctx.Err() == nil; {
		wait := retry
		if err := j.Run(ctx); err == nil {
			done++
			retry = retryFirst
			if wait = j.Every(done); wait < 0 {
				return nil
			}
		} else if ctx.Err() == nil {
			logger.ErrorContext(ctx, "periodic task failed, retrying", logfield.Error(err), logfield.RetryIn(retry))
			retry = min(2*retry, cmp.Or(j.RetryMax, retryLongest))
		}
		timer := j.Clock.NewTimer(wait)
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
		}
	}
	return nil
}
