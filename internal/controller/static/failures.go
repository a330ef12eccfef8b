package static

import (
	"math"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/karpenter-anew/karpenter/internal/cluster"
)

// pauses are those before claims are created in place of some that went without ever having had a machine.
var launchBackoff = wait.Backoff{Duration: time.Second, Factor: 2, Cap: time.Minute, Steps: math.MaxInt}

// failures remembers, per pool, claims that were created and have no machine yet. When one of them goes without ever having
// had one, because the cloud has no capacity for instance, the next attempt is put off: a deleted claim wakes its pool at
// once, and without a pause creation and deletion would chase each other. It is a memory of convenience and may be lost.
// The zero value is ready to use; it is safe for concurrent use.
type failures struct {
	mu    sync.Mutex
	pools map[string]*attempts
}

// attempts is what became of the claims of one pool.
type attempts struct {
	// open are the claims without a machine, by name.
	open map[string]bool
	// last is when the last of them were created.
	last time.Time
	// pause is how long to wait from then on; 0 while all goes well.
	pause time.Duration
	// delays are the pauses after the next failures.
	delays wait.Backoff
	// counted is set once the pause has grown because of them.
	counted bool
}

// created notes claims that have just been created; empty names are skipped.
func (f *failures) created(pool string, names []string, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pools == nil {
		f.pools = map[string]*attempts{}
	}
	a := f.pools[pool]
	if a == nil {
		a = &attempts{open: map[string]bool{}, delays: launchBackoff}
		f.pools[pool] = a
	}
	a.last, a.counted = now, false
	for _, name := range names {
		if name != "" {
			a.open[name] = true
		}
	}
}

// wait is how long to put off the next attempt; claims are those that the pool has. Once a claim has got its machine, all
// is well again.
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
		a.pause, a.delays = 0, launchBackoff
	case failed > 0 && !a.counted:
		a.counted = true
		a.pause = a.delays.Step()
	}
	return max(a.last.Add(a.pause).Sub(now), 0)
}

// forget ends the memory of a pool.
func (f *failures) forget(pool string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.pools, pool)
}
