package nodepool

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// trackedOutcomes is how many launches and registrations of a NodePool are remembered.
	trackedOutcomes = 4
	// unhealthyFailures is from how many failures among them on the NodePool counts as unhealthy.
	unhealthyFailures = 2
)

// verdict is what the remembered outcomes of a NodePool say.
type verdict int

const (
	unknown verdict = iota
	healthy
	unhealthy
)

// outcome is how the launch or registration of one claim ended. Seeds have no claim.
type outcome struct {
	claim  types.UID
	failed bool
}

// outcomes are the last outcomes of a NodePool, oldest first, never changed in place.
type outcomes []outcome

// with is the outcomes after one more. An outcome that is there already counts once, so that a retried report of the
// same claim changes nothing.
func (o outcomes) with(next outcome) outcomes {
	if next.claim != "" && slices.Contains(o, next) {
		return o
	}
	all := append(slices.Clone(o), next)
	return all[max(0, len(all)-trackedOutcomes):]
}

// verdict sums the outcomes up.
func (o outcomes) verdict() verdict {
	failures := 0
	for _, one := range o {
		if one.failed {
			failures++
		}
	}
	switch {
	case len(o) == 0:
		return unknown
	case failures >= unhealthyFailures:
		return unhealthy
	default:
		return healthy
	}
}

// tracker remembers the outcomes of every NodePool. It is safe for concurrent use. A NodePool recreated under the same
// name starts empty.
type tracker struct {
	mu    sync.Mutex
	pools map[string]trackedPool
}

type trackedPool struct {
	uid  types.UID
	last outcomes
}

// of returns the outcomes of a NodePool.
func (t *tracker) of(name string, uid types.UID) outcomes {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.find(name, uid)
}

func (t *tracker) find(name string, uid types.UID) outcomes {
	if pool := t.pools[name]; pool.uid == uid {
		return pool.last
	}
	return nil
}

// add remembers further outcomes of a NodePool.
func (t *tracker) add(name string, uid types.UID, more ...outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := t.find(name, uid)
	for _, one := range more {
		last = last.with(one)
	}
	if t.pools == nil {
		t.pools = map[string]trackedPool{}
	}
	t.pools[name] = trackedPool{uid: uid, last: last}
}

// forget empties a NodePool's memory.
func (t *tracker) forget(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.pools, name)
}
