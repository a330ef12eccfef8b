package forecast

import (
	"maps"
	"slices"
	"time"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/drift"
	"github.com/karpenter-anew/karpenter/internal/problem"
	"github.com/karpenter-anew/karpenter/internal/simulation"
)

// mark sets the conditions Drifted and Consolidatable of the claims as their controller would at now. What the cloud provider decided about a
// claim stays as it is. It returns the claims that changed, by name.
func (w *world) mark(now time.Time) []*v1.NodeClaim {
	hashed := map[string]*v1.NodePool{}
	var changed []*v1.NodeClaim
	for _, name := range slices.Sorted(maps.Keys(w.claims)) {
		claim := w.claims[name]
		pool := w.pools[claim.Labels[v1.NodePoolLabelKey]]
		if pool == nil || claim.DeletionTimestamp != nil || !w.cloud.Manages(pool.Spec.Template.Spec.NodeClassRef) {
			continue
		}
		if hashed[pool.Name] == nil {
			hashed[pool.Name] = simulation.WithHash(pool)
		}
		set := condition.For(claim, now)
		drifted, consolidatable := set.IsTrue(v1.ConditionTypeDrifted), set.IsTrue(v1.ConditionTypeConsolidatable)
		w.markDrift(set, hashed[pool.Name], claim)
		if pool.Spec.Replicas == nil {
			after, initialized := pool.Spec.Disruption.ConsolidateAfter.Duration, set.Get(v1.ConditionTypeInitialized)
			if yes, _ := problem.Consolidatable(after, initialized, claim.Status.LastPodEventTime, now); yes {
				set.True(v1.ConditionTypeConsolidatable)
			} else {
				set.Clear(v1.ConditionTypeConsolidatable)
			}
		}
		if drifted != set.IsTrue(v1.ConditionTypeDrifted) || consolidatable != set.IsTrue(v1.ConditionTypeConsolidatable) {
			changed = append(changed, claim)
		}
	}
	return changed
}

// settles is when the consolidateAfter of a NodeClaim ends next; zero if that of none does.
func (w *world) settles(now time.Time) time.Time {
	var next time.Time
	for _, claim := range w.claims {
		pool := w.pools[claim.Labels[v1.NodePoolLabelKey]]
		if pool == nil || claim.DeletionTimestamp != nil || pool.Spec.Replicas != nil || !w.cloud.Manages(pool.Spec.Template.Spec.NodeClassRef) {
			continue
		}
		initialized := condition.For(claim, now).Get(v1.ConditionTypeInitialized)
		if _, wait := problem.Consolidatable(pool.Spec.Disruption.ConsolidateAfter.Duration, initialized, claim.Status.LastPodEventTime, now); wait > 0 {
			next = earliest(next, now.Add(wait))
		}
	}
	return next
}

// nodeClassDrifted is the reason of drift that the caller of the forecast assumes.
const nodeClassDrifted cloud.DriftReason = "NodeClassDrift"

func (w *world) markDrift(set condition.Set, pool *v1.NodePool, claim *v1.NodeClaim) {
	reason := drift.OfTemplate(pool, claim, w.cloud.Labels)
	if reason == "" && w.drifted[claim.Name] {
		reason = nodeClassDrifted
	}
	before := set.Get(v1.ConditionTypeDrifted)
	switch {
	case !set.IsTrue(v1.ConditionTypeLaunched):
	case reason != "":
		if !set.IsTrue(v1.ConditionTypeDrifted) {
			set.TrueWithReason(v1.ConditionTypeDrifted, string(reason), string(reason))
		}
	case before != nil && (before.Reason == string(cloud.NodePoolDrifted) || before.Reason == string(cloud.RequirementsDrifted)):
		set.Clear(v1.ConditionTypeDrifted)
	}
}

// learnLaunch is the median time from the creation of a NodeClaim until its node was initialized; false where there is none to learn from.
func learnLaunch(claims map[string]*v1.NodeClaim) (time.Duration, bool) {
	var took []time.Duration
	for _, claim := range claims {
		c := condition.For(claim, time.Time{}).Get(v1.ConditionTypeInitialized)
		if c == nil || c.Status != "True" || claim.CreationTimestamp.IsZero() {
			continue
		}
		if d := c.LastTransitionTime.Sub(claim.CreationTimestamp.Time); d > 0 {
			took = append(took, d)
		}
	}
	if len(took) == 0 {
		return DefaultLaunch, false
	}
	slices.Sort(took)
	return took[len(took)/2], true
}
