package disrupt

import "github.com/karpenter-anew/karpenter/internal/core/model"

// ClosedDestinations returns, for each of the candidates that could be consolidated if no node were closed to its pods, the nodes that would
// take them and are within the consolidateAfter of their pools; by the ID of the candidate's node. Candidates after over are left out. The
// simulations are not free: one for each candidate, if there are closed nodes at all.
func (s *SimulationInput) ClosedDestinations(candidates []Candidate, over func() bool) map[string][]*model.Node {
	if len(candidates) == 0 {
		return nil
	}
	closed, _ := s.closed(candidates, ForConsolidation)
	if len(closed) == 0 {
		return nil
	}
	open, out := *s, map[string][]*model.Node{}
	open.OpensDestinations = true
	sim := open.Simulator(candidates, ForConsolidation)
	for _, c := range candidates {
		if over() {
			break
		}
		v := sim.evaluateSingle(c)
		if v.obstacle != nil {
			continue
		}
		for _, at := range v.command.Placements {
			if closed[at.Node.ID] {
				out[c.Node.ID] = append(out[c.Node.ID], at.Node)
			}
		}
	}
	return out
}
