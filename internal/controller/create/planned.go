package create

import (
	"cmp"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// PlannedPod is a pod that needs a NodeClaim.
type PlannedPod struct {
	types.NamespacedName
	UID types.UID
}

// Planned remembers for which pods the NodeClaims that start are, so that the pods can be told when one is not launched. It may be lost:
// after a restart the next pass plans the pods again.
//
// It is safe for concurrent use; a nil Planned remembers nothing.
type Planned struct {
	mu sync.Mutex
	// on has the pods by UID: each is planned on one NodeClaim.
	on map[types.UID]plannedOn
}

type plannedOn struct {
	claim string
	pod   types.NamespacedName
}

// Put records that pods need a NodeClaim, in place of the ones that they needed before.
func (p *Planned) Put(claim string, pods ...PlannedPod) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.on == nil {
		p.on = map[types.UID]plannedOn{}
	}
	for _, pod := range pods {
		p.on[pod.UID] = plannedOn{claim, pod.NamespacedName}
	}
}

// Keep forgets the pods that wanted does not report.
func (p *Planned) Keep(wanted func(uid types.UID) bool) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for uid := range p.on {
		if !wanted(uid) {
			delete(p.on, uid)
		}
	}
}

// Take returns the pods of a NodeClaim by namespace and name, and forgets them.
func (p *Planned) Take(claim string) []PlannedPod {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []PlannedPod
	for uid, on := range p.on {
		if on.claim == claim {
			out = append(out, PlannedPod{on.pod, uid})
			delete(p.on, uid)
		}
	}
	slices.SortFunc(out, func(a, b PlannedPod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
	return out
}
