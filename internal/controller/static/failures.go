package static

import (
	"math"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/karpenter-anew/karpenter/internal/cluster"
)

// launchBackoff returns the delays before NodeClaims are created in place of some that were deleted before they launched.
func launchBackoff() wait.Backoff {
	return wait.Backoff{Duration: time.Second, Factor: 2, Cap: time.Minute, Steps: math.MaxInt}
}

// failures tracks, per pool, NodeClaims that were created and have not launched. When one of them is deleted before it
// launched, because of insufficient capacity for instance, the next attempt is delayed: a deleted NodeClaim triggers its pool
// immediately, and without a delay creation and deletion would alternate. It may be lost.
// The zero value is ready to use; it is safe for concurrent use.
type failures struct {
	mu    sync.Mutex
	pools map[string]*attempts
}

// attempts tracks the launches of one pool.
type attempts struct {
	// open are the NodeClaims that have not launched, by name.
	open map[string]bool
	// last is when the last of them were created.
	last time.Time
	// pause is the delay counted from last; 0 without failures.
	pause time.Duration
	// delays are the pauses after the next failures.
	delays wait.Backoff
	// counted is set once the pause has grown because of them.
	counted bool
}

// created records claims that have just been created; empty names are skipped.
func (f *failures) created(pool string, names []string, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pools == nil {
		f.pools = map[string]*attempts{}
	}
	a := f.pools[pool]
	if a == nil {
		a = &attempts{open: map[string]bool{}, delays: launchBackoff()}
		f.pools[pool] = a
	}
	a.last, a.counted = now, false
	for _, name := range names {
		if name != "" {
			a.open[name] = true
		}
	}
}

// wait is how long to delay the next attempt; claims are those that the pool has. The first launch resets the delay.
func (f *failures) wait(pool string, claims []cluster.PoolNodeClaim, now time.Time) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	a := f.pools[pool]
	if a == nil {
		return 0
	}
	open := map[string]bool{}
	launched := false
	for _, c := range claims {
		switch {
		case !a.open[c.Claim.Name]:
		case c.Claim.Status.ProviderID != "":
			launched = true
		case c.Phase != cluster.Deleting:
			open[c.Claim.Name] = true
		}
	}
	failed := 0
	for name := range a.open {
		if !open[name] {
			failed++
		}
	}
	a.open = open
	switch {
	case launched:
		a.pause, a.delays = 0, launchBackoff()
	case failed > 0 && !a.counted:
		a.counted = true
		a.pause = a.delays.Step()
	}
	return max(a.last.Add(a.pause).Sub(now), 0)
}

// forget drops the state of a pool.
func (f *failures) forget(pool string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.pools, pool)
}
