package forecast

import (
	"maps"
	"slices"
	"time"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/simulation"
)

// leave finds the nodes that are being deleted. They are gone when their pods have used their termination grace period; what else delays
// their end, such as a PodDisruptionBudget, is not known and noted.
func leave(r *run) {
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
		r.leaving++
		evict(r, claim.Status.NodeName, map[simulation.Owner]int{})
		r.plan(at, func() {
			r.leaving--
			r.remove(claim.Status.NodeName, name)
			r.unsettled = true
		})
	}
	if n := r.leaving; n > 0 {
		r.note("%s being deleted at the start and not counted as removed, nor are the pods that move from there: the forecast assumes that nothing but the "+
			"termination grace period of the pods delays the end", nodes(n, "is", "are"))
	}
}
