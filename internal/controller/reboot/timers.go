package reboot

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// timers are since when the cloud provider has been asked for reboots, by the name of the NodeClaim. The zero value has none.
type timers struct {
	mu     sync.Mutex
	byName map[string]timer
}

// timer is of one reboot: the NodeClaim, and when the reboot was requested.
type timer struct {
	uid                  types.UID
	requested, startedAt time.Time
}

// start starts the time of a reboot, unless it runs, and returns since when it does.
func (t *timers) start(claim *v1.NodeClaim, requested, now time.Time) time.Time {
	if since, ok := t.started(claim, requested); ok {
		return since
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byName == nil {
		t.byName = map[string]timer{}
	}
	t.byName[claim.Name] = timer{uid: claim.UID, requested: requested, startedAt: now}
	return now
}

// started returns since when the time of a reboot runs; false if it does not.
func (t *timers) started(claim *v1.NodeClaim, requested time.Time) (time.Time, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	have, ok := t.byName[claim.Name]
	return have.startedAt, ok && have.uid == claim.UID && have.requested.Equal(requested)
}

// stop ends the time of the NodeClaim of that name.
func (t *timers) stop(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byName, name)
}
