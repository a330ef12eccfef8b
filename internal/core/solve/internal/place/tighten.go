package place

// Tighten frees capacity under the limits of pools for pods that were not placed. Open nodes are charged with the largest
// instance type that they may become; keeping them from becoming larger than their cheapest candidate costs some choice at
// launch, and these pods do not wait for the next run. Pods that still cannot be placed stay unschedulable.
//
// Invariant: candidates of open nodes only drop out, and no pod loses its place. Cost: one more pass over the unschedulable
// pods.
func (s *Placer) Tighten() {
	limited := false
	for _, t := range s.Templates {
		limited = limited || !t.Limits.Unlimited()
	}
	if !limited || len(s.Unschedulable) == 0 {
		return
	}
	shrunk := false
	for _, on := range s.Open {
		shrunk = on.Shrink() || shrunk
	}
	if !shrunk {
		return
	}
	if s.Daemons.Active() {
		s.Daemons.Activate(s.Run, true)
	}
	again := s.Unschedulable
	s.Unschedulable = nil
	s.PlaceAll(again)
}
