package disrupt

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
)

// Failure is the class of a failed validation, for metrics and events.
type Failure string

// The classes of failed validations.
const (
	// Churn means that candidates changed while the command waited.
	Churn Failure = "churn"
	// OverBudget means that budgets shrank while the command waited.
	OverBudget Failure = "budget"
	// Scheduling means that the simulation had another result.
	Scheduling Failure = "scheduling"
)

// Validation is the outcome of validating a command.
type Validation struct {
	// Command is the part of the command that is still valid; it has no candidates when nothing is.
	Command Command
	// Dropped are the obstacles of every dropped candidate.
	Dropped []Obstacle
}

// Failure is the class of an obstacle to a command that waited.
func (o Obstacle) Failure() Failure {
	switch o.Code {
	case NodePoolBudgetExhausted, outsideWindow, frozen, invalidPolicy:
		return OverBudget
	case NoOtherPlace, OtherResult:
		return Scheduling
	}
	return Churn
}

// Validate compares a command that waited with the present state: fit are the nodes that the method of the command would choose
// from now, obstacles those of the other nodes, and budgets the rest when the command itself is not counted.
// The result has the present candidates, in the order of the command. Nodes that may no longer be disrupted are dropped
// and the others kept.
//
// A candidate is identified by its NodeClaim: a node that came back under the same name is another node.
//
// Source: disruption specification, emptiness validation.
func Validate(c Command, fit []Candidate, obstacles []Obstacle, budgets Budgets) Validation {
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
	v := Validation{Command: Command{Reason: c.Reason, Type: c.Type}}
	for _, proposed := range c.Candidates {
		candidate, ok := present[proposed.Node.ClaimName]
		switch {
		case !ok:
			v.Dropped = append(v.Dropped, why(proposed.Node, standing))
		case !budgets.Take(candidate.Node.Pool):
			v.Dropped = append(v.Dropped, Obstacle{Code: NodePoolBudgetExhausted, Node: candidate.Node})
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

// Validate compares a command that was found by simulation with the present state: fit are the nodes that the method of the
// command would choose from now, and budgets the rest when the command itself is not counted. All nodes of the command must be
// among them. The simulation is repeated: pods must still have places, as many nodes must be needed as the command launches,
// and the instance types that it launches must be among those that would be launched now.
//
// The result has the present candidates and placements, or none at all.
//
// Source: disruption specification, consolidation validation.
func (sim *Simulator) Validate(c Command, fit []Candidate, obstacles []Obstacle, budgets Budgets) Validation {
	v := Validate(c, fit, obstacles, budgets)
	if len(v.Dropped) > 0 {
		v.Command.Candidates = nil
		return v
	}
	t := sim.simulate(v.Command.Candidates, solve.Choices{First: c.First})
	drop := func(o Obstacle) Validation {
		o.Node = c.Candidates[0].Node
		return Validation{Command: Command{Reason: c.Reason, Type: c.Type}, Dropped: []Obstacle{o}}
	}
	if len(t.Failed) > 0 {
		return drop(Obstacle{Code: NoOtherPlace, Detail: sim.describeUnplaced(t.Failed), Passes: t.passes()})
	}
	if len(t.Plan.NodeClaims) != len(c.Replacements) {
		return drop(Obstacle{Code: OtherResult, Count: len(t.Plan.NodeClaims)})
	}
	for i, claim := range c.Replacements {
		now := t.Plan.NodeClaims[i]
		if now.Pool != claim.Pool || !subset(claim.InstanceTypes, now.InstanceTypes) {
			return drop(Obstacle{Code: OtherResult, Count: len(t.Plan.NodeClaims)})
		}
	}
	v.Command.Replacements, v.Command.Placements, v.Command.First = c.Replacements, sim.placements(t), c.First
	return v
}

func subset(part, whole []string) bool {
	known := make(map[string]bool, len(whole))
	for _, name := range whole {
		known[name] = true
	}
	return !slices.ContainsFunc(part, func(name string) bool { return !known[name] })
}
