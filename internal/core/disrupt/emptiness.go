package disrupt

import "github.com/karpenter-anew/karpenter/internal/core/model"

// emptiness removes empty nodes, in one command per pass, most expensive first.
//
// Only nodes without any pod to move are empty; nodes whose pods all have an eviction cost of zero or less are left to
// dispensable. Nodes that reserve capacity for capacity buffers are not empty.
//
// Source: disruption specification, emptiness, capacity buffers.
func emptiness() Method {
	return Method{
		Name: "emptiness", Reason: Empty, Type: "empty", Class: Graceful, Search: ByBudget,
		Queued: true, DropsOccupied: true, ReportsEvaluation: true,
		Filter: filterEmptiness, Decide: decideEmptiness,
	}
}

func filterEmptiness(c Candidate) Code {
	switch {
	case c.Pool.Static:
		return Static
	case c.Pool.ConsolidationDisabled:
		return ConsolidationOff
	case c.Node.Headroom > 0:
		return KeepsHeadroom
	case c.Pool.HeadroomUnknown:
		return HeadroomUnknown
	case len(c.PodsToMove) > 0:
		return NotEmpty
	case !c.Node.Disruption.Consolidatable:
		return NotConsolidatable
	}
	return ""
}

func decideEmptiness(s Session, fit []Candidate) Decision {
	var d Decision
	command := Command{Reason: Empty, Type: "empty"}
	for _, c := range byRatio(fit) {
		if s.Budgets.Take(c.Node.Pool) {
			command.Candidates = append(command.Candidates, c)
		} else {
			d.skip(NodePoolBudgetExhausted, c)
		}
	}
	if len(command.Candidates) > 0 {
		d.Commands = []Command{command}
	}
	return d
}

// DropOccupied drops the nodes of a command that have got pods, real or virtual, since. Deleted nodes are kept:
// deleting them again has no effect.
func DropOccupied(c Command, now *model.Snapshot) Validation {
	v := Validation{Command: Command{Reason: c.Reason, Type: c.Type}}
	for _, candidate := range c.Candidates {
		n, ok := now.Nodes.Get(candidate.Node.ID)
		switch {
		case ok && n.Headroom > 0:
			v.Dropped = append(v.Dropped, Obstacle{Code: KeepsHeadroom, Node: n})
			continue
		case ok && len(newCandidate(n, candidate.Pool).PodsToMove) > 0:
			v.Dropped = append(v.Dropped, Obstacle{Code: NotEmpty, Node: n})
			continue
		}
		v.Command.Candidates = append(v.Command.Candidates, candidate)
	}
	return v
}
