package place

// Tighten makes room under the limits of pools for pods that were refused. Claims are charged with the largest machine that
// they may become; keeping them from becoming larger than their cheapest candidate costs some choice at launch and saves
// the refused pods a wait for the next run. Pods that even then find no place stay refused.
//
// Invariant: claims only shrink, and no pod loses its place. Cost: one more pass over the refused pods.
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
	again := s.Unschedulable
	s.Unschedulable = nil
	s.PlaceAll(again)
}
