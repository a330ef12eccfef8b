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
	// claims has, by UID, the NodeClaim that each pod is planned on; pods has the pods by NodeClaim.
	claims map[types.UID]string
	pods   map[string]map[types.UID]types.NamespacedName
}

// Put records that pods need a NodeClaim, in place of the ones that they needed before.
func (p *Planned) Put(claim string, pods ...PlannedPod) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.claims == nil {
		p.claims, p.pods = map[types.UID]string{}, map[string]map[types.UID]types.NamespacedName{}
	}
	for _, pod := range pods {
		p.forget(pod.UID)
		if p.pods[claim] == nil {
			p.pods[claim] = map[types.UID]types.NamespacedName{}
		}
		p.claims[pod.UID], p.pods[claim][pod.UID] = claim, pod.NamespacedName
	}
}

// Keep forgets the pods that wanted does not report.
func (p *Planned) Keep(wanted func(uid types.UID) bool) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for uid := range p.claims {
		if !wanted(uid) {
			p.forget(uid)
		}
	}
}

// Take returns the pods of a NodeClaim as On does, and forgets them.
func (p *Planned) Take(claim string) []PlannedPod {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.on(claim)
	for _, pod := range out {
		p.forget(pod.UID)
	}
	return out
}

// On returns the pods of a NodeClaim by namespace and name.
func (p *Planned) On(claim string) []PlannedPod {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.on(claim)
}

func (p *Planned) on(claim string) []PlannedPod {
	var out []PlannedPod
	for uid, pod := range p.pods[claim] {
		out = append(out, PlannedPod{pod, uid})
	}
	slices.SortFunc(out, func(a, b PlannedPod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
	return out
}

func (p *Planned) forget(uid types.UID) {
	claim, known := p.claims[uid]
	if !known {
		return
	}
	delete(p.claims, uid)
	if delete(p.pods[claim], uid); len(p.pods[claim]) == 0 {
		delete(p.pods, claim)
	}
}
