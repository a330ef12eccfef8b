package nodepool

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// trackedOutcomes is the number of launches and registrations that are kept of a NodePool.
	trackedOutcomes = 4
	// unhealthyFailures is the number of failures among them from which the NodePool is unhealthy.
	unhealthyFailures = 2
)

// health is the registration health of a NodePool by its outcomes.
type health int

const (
	unknown health = iota
	healthy
	unhealthy
)

// outcome is the result of the launch or registration of one NodeClaim. Outcomes restored from the status have no NodeClaim.
type outcome struct {
	claim  types.UID
	failed bool
}

// outcomes are the last outcomes of a NodePool, oldest first, never changed in place.
type outcomes []outcome

// with appends an outcome. An outcome counts once, so that repeating the call for the same NodeClaim changes nothing.
func (o outcomes) with(next outcome) outcomes {
	if next.claim != "" && slices.Contains(o, next) {
		return o
	}
	all := append(slices.Clone(o), next)
	return all[max(0, len(all)-trackedOutcomes):]
}

// health is the health that follows from the outcomes.
func (o outcomes) health() health {
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

// healthTracker keeps the outcomes of every NodePool. It is safe for concurrent use. A NodePool recreated with the same name starts empty.
type healthTracker struct {
	mu    sync.Mutex
	pools map[string]trackedPool
}

type trackedPool struct {
	uid  types.UID
	last outcomes
}

// of returns the outcomes of a NodePool.
func (t *healthTracker) of(name string, uid types.UID) outcomes {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.find(name, uid)
}

func (t *healthTracker) find(name string, uid types.UID) outcomes {
	if pool := t.pools[name]; pool.uid == uid {
		return pool.last
	}
	return nil
}

// add appends outcomes of a NodePool.
func (t *healthTracker) add(name string, uid types.UID, more ...outcome) {
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

// forget removes the outcomes of a NodePool.
func (t *healthTracker) forget(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.pools, name)
}
