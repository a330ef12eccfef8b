package place

// Settle decides the domains of open nodes where pods that were not placed are spread beside the pods there, and spreads count these in every
// domain that the node may end up in. It costs some choice at launch, as Tighten does, and these pods do not wait for the next run.
//
// Invariant: candidates of open nodes only drop out, and no pod loses its place. Cost: one more pass over the unschedulable pods.
func Settle(s *Placer) {
	settled := false
	for _, r := range s.Unschedulable {
		for i, on := range s.Open {
			if r.Class.Doubts(on) {
				b := s.OpenBin(i, on)
				settled = s.Counts.Settle(s.Classes, b, r.Class) || settled
				if s.Daemons.Active() {
					s.Daemons.Update(b)
				}
			}
		}
	}
	if !settled {
		return
	}
	again := s.Unschedulable
	s.Unschedulable = nil
	for _, r := range again {
		r.Class.Retry()
	}
	s.PlaceAll(again)
}
