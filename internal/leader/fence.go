// Package leader has the times of leader election, and stops the writes of a controller that may have lost its lease.
package leader

import (
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// The times of leader election: how long a lease that is not renewed is respected, how long a leader tries to renew before it gives up,
// and how often either side looks.
const (
	LeaseDuration = 15 * time.Second
	RenewDeadline = 10 * time.Second
	RetryPeriod   = 2 * time.Second
)

// HoldLimit is how long after its last renewal a lease is trusted. A running leader releases it earlier (RenewDeadline after its last attempt),
// and no other replica takes over before LeaseDuration; the difference allows for requests in flight.
const HoldLimit = LeaseDuration - RetryPeriod

// Fence prevents a process from writing after it may have lost its lease.
//
// Problem: a process that was frozen (a suspended host, a stopped container) resumes as the leader, and the library retries for
// RenewDeadline to renew a lease that another replica has acquired meanwhile. Work in progress would be done twice: every pending pod
// gets a second node.
//
// Approach: record when the lease was last renewed, and reject writes to the API server and to the cloud once that is too long ago.
// A renewal allows them again. Before the first renewal no write is rejected: a process that is not the leader does not write.
type Fence struct {
	Log     *slog.Logger // gets one line each time the fence closes; nil for none
	mu      sync.Mutex
	renewed time.Time // zero before the first time
	closed  bool      // writes have been refused since the last renewal
}

// Renewed records a renewal. The time that counts is that of the request, not of the answer.
func (f *Fence) Renewed(asked time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.renewed, f.closed = asked, false
}

// Refuse returns an error if writes are not allowed now; nil while the lease is trusted.
func (f *Fence) Refuse(now time.Time) error {
	age := f.age(now)
	if age <= HoldLimit {
		return nil
	}
	err := fmt.Errorf("the lease was last renewed %s ago, another replica may have taken over", age.Round(time.Second))
	f.mu.Lock()
	first := !f.closed
	f.closed = true
	f.mu.Unlock()
	if first && f.Log != nil {
		f.Log.Error("not writing until the lease is renewed", logfield.Error(err))
	}
	// Every reconcile in progress fails with it, hundreds in a large cluster.
	return observe.Logged(fmt.Errorf("not writing: %w", err))
}

// age returns how long ago the lease was renewed; zero before the first time. Of the wall clock and the monotonic one, which stops while a
// host is suspended, the longer time counts.
func (f *Fence) age(now time.Time) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.renewed.IsZero() {
		return 0
	}
	return max(now.Sub(f.renewed), now.Round(0).Sub(f.renewed.Round(0)))
}
