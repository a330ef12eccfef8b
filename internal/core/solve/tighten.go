package solve

// tighten makes room under the limits of pools for pods that were refused. Claims are charged with the largest machine that
// they may become; keeping them from becoming larger than their cheapest candidate costs some choice at launch and saves
// the refused pods a wait for the next run. Pods that even then find no place stay refused.
//
// Invariant: claims only shrink, and no pod loses its place. Cost: one more pass over the refused pods.
func (s *solver) tighten() {
	limited := false
	for _, t := range s.templates {
		limited = limited || !t.limits.unlimited()
	}
	if !limited || len(s.refused) == 0 {
		return
	}
	shrunk := false
	for _, cl := range s.claims {
		shrunk = cl.shrink() || shrunk
	}
	if !shrunk {
		return
	}
	again := s.refused
	s.refused = nil
	s.placeAll(again)
}

// shrink drops the candidates that are larger than the cheapest one in a limited resource, and reports whether there were
// any. Demands for distinct values and reservations stay met.
func (cl *claim) shrink() bool {
	l := cl.t.limits
	if l.unlimited() || len(cl.t.states[cl.state].minimums) > 0 || len(cl.held) > 0 {
		return false
	}
	cheapest := cl.cheapest()
	dropped := false
	for column := range cl.mask.all() {
		if l.larger(cl.t.capacity(column), cl.t.capacity(cheapest)) {
			cl.mask.clear(column)
			dropped = true
		}
	}
	if dropped {
		cl.measure()
		l.charge(cl)
	}
	return dropped
}
