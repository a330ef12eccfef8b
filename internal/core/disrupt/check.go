package disrupt

import "github.com/karpenter-anew/karpenter/internal/core/model"

// Failure is the class of a failed check, for metrics and events.
type Failure string

// The classes of failed checks.
const (
	// Churn means that candidates changed while the command waited.
	Churn Failure = "churn"
	// OverBudget means that budgets shrank while the command waited.
	OverBudget Failure = "budget"
)

// Verdict is the outcome of a check.
type Verdict struct {
	// Command is what is left to do; it has no candidates when nothing is.
	Command Command
	// Dropped says of every other candidate why it was dropped.
	Dropped []Obstacle
}

// Failure is the class of the obstacle in a check.
func (o Obstacle) Failure() Failure {
	if o.Code == BudgetSpent {
		return OverBudget
	}
	return Churn
}

// Check holds a command that waited against the present: fit are the nodes that the command's method would pick from
// now, obstacles what stands in the way of the others, and budgets what is left when the command itself is not counted.
// The candidates of the verdict are those of the present, in the order of the command. Nodes that lost their right to be
// disrupted are dropped and the others kept.
//
// A candidate is known by its NodeClaim: a node that came back under an old name is another node.
//
// Source: disruption specification, emptiness validation.
func Check(c Command, fit []Candidate, obstacles []Obstacle, budgets Budgets) Verdict {
	present := make(map[string]Candidate, len(fit))
	for _, candidate := range fit {
		present[candidate.Node.ClaimName] = candidate
	}
	standing := make(map[string]Obstacle, len(obstacles))
	for _, o := range obstacles {
		if o.Node.ClaimName != "" {
			standing[o.Node.ClaimName] = o
		}
	}
	v := Verdict{Command: Command{Reason: c.Reason, Type: c.Type}}
	for _, proposed := range c.Candidates {
		candidate, ok := present[proposed.Node.ClaimName]
		switch {
		case !ok:
			v.Dropped = append(v.Dropped, why(proposed.Node, standing))
		case !budgets.Take(candidate.Node.Pool):
			v.Dropped = append(v.Dropped, Obstacle{Code: BudgetSpent, Node: candidate.Node})
		default:
			v.Command.Candidates = append(v.Command.Candidates, candidate)
		}
	}
	return v
}

func why(n *model.Node, standing map[string]Obstacle) Obstacle {
	if o, ok := standing[n.ClaimName]; ok {
		return o
	}
	return Obstacle{Code: Gone, Node: n}
}
