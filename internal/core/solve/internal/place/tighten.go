package place

import (
	"github.com/karpenter-anew/karpenter/internal/core/bitset"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
)

// Tighten frees capacity under the limits of pools for pods that were not placed. Open nodes are charged with the largest
// instance type that they may become; keeping them from becoming larger than their cheapest candidate costs some choice at
// launch, and these pods do not wait for the next run. Pods that still cannot be placed stay unschedulable.
//
// Where that has placed no pod, loosen gives the open nodes their candidates back, as far as limits still admit these: for pods that are
// placed afterwards, and for the choice at launch.
//
// Invariant: candidates of open nodes only drop out, and no pod loses its place. Cost: one more pass over the unschedulable
// pods.
func (s *Placer) Tighten() (loosen func()) {
	loosen = func() {}
	limited := false
	for _, t := range s.Templates {
		limited = limited || !t.Limits.Unlimited()
	}
	if !limited || len(s.Unschedulable) == 0 {
		return loosen
	}
	var list []shrunk
	for _, on := range s.Open {
		before := shrunk{on, on.Mask.Clone(), on.State}
		if on.Shrink() {
			list = append(list, before)
		}
	}
	if len(list) == 0 {
		return loosen
	}
	if s.Daemons.Active() {
		s.Daemons.Activate(s.Run, true)
	}
	again := s.Unschedulable
	s.Unschedulable = nil
	s.PlaceAll(again)
	if podsOf(s.Unschedulable) < podsOf(again) {
		return loosen
	}
	return func() {
		if podsOf(s.Unschedulable) < podsOf(again) {
			return // some were placed since, and may rely on the domains that are left
		}
		for _, before := range list {
			if before.on.State == before.state {
				before.on.Restore(before.mask)
			}
		}
		reopen(s)
	}
}

// shrunk is an open node as it was before it lost candidates.
type shrunk struct {
	on    *compile.OpenNode
	mask  bitset.Set
	state compile.StateID
}

// podsOf is how many pods some runs have.
func podsOf(runs []PodRun) (pods int) {
	for _, r := range runs {
		pods += len(r.Pods)
	}
	return pods
}
