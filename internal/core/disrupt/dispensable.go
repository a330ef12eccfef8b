package disrupt

// dispensable removes nodes whose pods all have an eviction cost of zero or less. They count as empty, yet their pods need a
// place: unlike empty nodes they are removed only if their pods fit on existing nodes. Where a node would have to be launched they are
// left to consolidation, since a node launched for such pods would be dispensable again.
//
// Source: disruption specification, emptiness; weaknesses, empty nodes with running pods.
func dispensable() Method {
	return Method{
		Name: "dispensable", Reason: Empty, Type: "empty", Class: Graceful, Simulates: ForConsolidation, Search: InOrder,
		Timeout: searchTimeout, Queued: true,
		Filter: func(c Candidate) Code {
			switch {
			case len(c.PodsToMove) == 0:
				return AlreadyEmpty
			case c.DisruptionCost > baseCost:
				return NotEmpty
			case c.SplitsGroup:
				return splitsPodGroup
			case c.InBackoff:
				return NodeInBackoff
			}
			c.PodsToMove = nil
			return filterEmptiness(c)
		},
		Decide: decideDispensable,
	}
}

func decideDispensable(s Session, fit []Candidate) Decision {
	var d Decision
	sim, kept, to := s.Simulators[0], true, s.destinations()
	for _, c := range byRatio(fit) {
		if !kept || s.Expired() {
			d.skip(NotReached, c)
			continue
		}
		if code := s.skipCode(c, to); code != "" {
			d.Incomplete = true
			d.skip(code, c)
			continue
		}
		t := sim.Simulate([]Candidate{c})
		if len(t.Failed) > 0 || len(t.Plan.NodeClaims) > 0 {
			d.skip(NotEmpty, c)
			continue
		}
		s.take(&d, Command{Reason: Empty, Type: "empty", Candidates: []Candidate{c}, Placements: sim.placements(t)}, to)
		kept = sim.Keep()
	}
	return d
}
