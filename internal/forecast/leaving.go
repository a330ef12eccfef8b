package forecast

import (
	"maps"
	"slices"
	"time"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// leaving is a node that is being deleted at the start of the forecast.
type leaving struct {
	node, claim string
	// at is when it is gone.
	at time.Time
}

// leave finds the nodes that are being deleted. They are gone when their pods have used their termination grace period; what else delays
// their end, such as a PodDisruptionBudget, is not known and noted.
func (r *run) leave() {
	for _, name := range slices.Sorted(maps.Keys(r.world.claims)) {
		claim := r.world.claims[name]
		if claim.DeletionTimestamp == nil || r.view.Pools[claim.Labels[v1.NodePoolLabelKey]] == nil {
			continue
		}
		var grace time.Duration
		for _, pod := range r.view.Pods[claim.Status.NodeName] {
			grace = max(grace, gracePeriodOf(pod))
		}
		at := r.now.Add(grace)
		if limit := claim.Spec.TerminationGracePeriod; limit != nil {
			at = earlier(at, later(claim.DeletionTimestamp.Add(limit.Duration), r.now))
		}
		r.leaving = append(r.leaving, leaving{node: claim.Status.NodeName, claim: name, at: at})
	}
	if n := len(r.leaving); n > 0 {
		r.note("%s being deleted at the start and not counted as removed, nor are the pods that move from there: the forecast assumes that nothing but the "+
			"termination grace period of the pods delays the end", nodes(n, "is", "are"))
	}
}

// finishLeaving removes the nodes that are gone at now.
func (r *run) finishLeaving() {
	r.leaving = slices.DeleteFunc(r.leaving, func(l leaving) bool {
		if l.at.After(r.now) {
			return false
		}
		r.world.remove(l.node, l.claim)
		return true
	})
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
