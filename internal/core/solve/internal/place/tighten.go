package place

import "github.com/karpenter-anew/karpenter/internal/core/bitset"

// Tighten frees capacity under the limits of pools for pods that were not placed. Open nodes are charged with the largest
// instance type that they may become; keeping them from becoming larger than their cheapest candidate costs some choice at
// launch, and these pods do not wait for the next run. Pods that still cannot be placed stay unschedulable.
//
// The result gives the open nodes their candidates back where that has placed no pod: those that are placed afterwards may need them.
//
// Invariant: candidates of open nodes only drop out, and no pod loses its place. Cost: one more pass over the unschedulable
// pods.
func (s *Placer) Tighten() (undo func()) {
	undo = func() {}
	limited := false
	for _, t := range s.Templates {
		limited = limited || !t.Limits.Unlimited()
	}
	if !limited || len(s.Unschedulable) == 0 {
		return undo
	}
	masks, shrunk := make([]bitset.Set, len(s.Open)), false
	for i, on := range s.Open {
		masks[i] = on.Mask.Clone()
		shrunk = on.Shrink() || shrunk
	}
	if !shrunk {
		return undo
	}
	if s.Daemons.Active() {
		s.Daemons.Activate(s.Run, true)
	}
	again := s.Unschedulable
	s.Unschedulable = nil
	s.PlaceAll(again)
	if podsOf(s.Unschedulable) < podsOf(again) {
		return undo
	}
	return func() {
		for i, mask := range masks {
			s.Open[i].Restore(mask)
		}
		reopen(s)
	}
}

// podsOf is how many pods some runs have.
func podsOf(runs []PodRun) (pods int) {
	for _, r := range runs {
		pods += len(r.Pods)
	}
	return pods
}
