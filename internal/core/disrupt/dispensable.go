package disrupt

// Dispensable removes nodes whose owners declared all pods free to disturb. They count as empty, yet their pods need a
// place: unlike empty nodes they go only if their pods fit elsewhere as things are. Where something would have to be launched
// they are left to consolidation, since a machine launched for such pods would be found dispensable again.
//
// Source: disruption specification, emptiness; weaknesses, empty nodes with running pods.
func Dispensable() Method {
	return Method{
		Name: "dispensable", Reason: Empty, Type: "empty", Class: Graceful, Consolidates: true,
		Refuses: func(c Candidate) Code {
			switch {
			case len(c.Moves) == 0:
				return Empties
			case c.Cost > baseCost:
				return Occupied
			case c.Rests:
				return Rests
			}
			c.Moves = nil
			return refusedByEmptiness(c)
		},
		Decide: decideDispensable,
	}
}

func decideDispensable(s Session, fit []Candidate) Decision {
	var d Decision
	lab, kept, promised := s.Labs[0], true, s.promised()
	for _, c := range byRatio(fit) {
		if !kept || s.Over() {
			d.leave(NotReached, c)
			continue
		}
		if code := s.suppresses(c, promised); code != "" {
			d.Suppressed = true
			d.leave(code, c)
			continue
		}
		t := lab.Try([]Candidate{c})
		if len(t.Failed) > 0 || len(t.Plan.NodeClaims) > 0 {
			d.leave(Occupied, c)
			continue
		}
		s.take(&d, c, Command{Reason: Empty, Type: "empty", Candidates: []Candidate{c}, Placements: lab.moving(t)}, promised)
		kept = lab.Keep()
	}
	return d
}
