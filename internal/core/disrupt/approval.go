package disrupt

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
)

// Problem: a person approves a command minutes or hours after it was found, perhaps while another process is the leader. Approach: only what
// was approved is kept, as API objects hold it, and the command is computed again for the same nodes by the method that found it. Invariant:
// the result does no more than what was approved: the same nodes, as many replacements, from the same pools, of approved instance types.
// Cost: one simulation.
//
// Source: docs/disruption-plans.md.

// Approved is what was approved of a command, beside its nodes.
type Approved struct {
	// Decision is the kind of the command, as Command.Decision returns it.
	Decision     string
	Replacements []ApprovedReplacement
	// First are the UIDs of pods that the simulation tries before all others.
	First map[string]bool
}

// ApprovedReplacement is what may be launched.
type ApprovedReplacement struct {
	Pool string
	// InstanceTypes are the instance types; empty for a static pool. CapacityTypes and Zones are empty for any.
	InstanceTypes, CapacityTypes, Zones []string
}

// Recompute computes a command for exactly these candidates once more. The obstacle is why that is not possible, or why the result would do
// something else than what was approved. s has the budgets and, if the method simulates, at least one simulator.
func (m Method) Recompute(s Session, set []Candidate, approved Approved) (Command, *Obstacle) {
	command, o := m.decideFor(s, set, approved.First)
	if o != nil {
		return Command{}, o
	}
	other := Obstacle{Code: OtherResult, Node: set[0].Node, Count: command.Launches()}
	if command.Decision() != approved.Decision || command.Launches() != len(approved.Replacements) {
		return Command{}, &other
	}
	for i, claim := range command.Replacements {
		want := approved.Replacements[i]
		kept, ok := s.Simulators[0].within(claim, want)
		if claim.Pool != want.Pool || !ok {
			return Command{}, &other
		}
		command.Replacements[i] = kept
	}
	return command, nil
}

// decideFor is the command of the method for exactly these candidates.
func (m Method) decideFor(s Session, set []Candidate, first map[string]bool) (Command, *Obstacle) {
	if m.Search == CandidateSets || m.Search == EachCandidate {
		for _, c := range set {
			if !s.Budgets.Take(c.Node.Pool) {
				return Command{}, &Obstacle{Code: NodePoolBudgetExhausted, Node: c.Node}
			}
		}
		return s.Simulators[0].consolidate(set, m.Type, first)
	}
	d := m.Decide(s, set)
	switch {
	case len(d.Commands) == 1 && sameNodes(d.Commands[0], set):
		return d.Commands[0], nil
	case len(d.Obstacles) > 0:
		return Command{}, &d.Obstacles[0]
	}
	return Command{}, &Obstacle{Code: OtherResult, Node: set[0].Node, Count: len(d.Commands)}
}

func sameNodes(c Command, set []Candidate) bool {
	ids := c.IDs()
	return len(ids) == len(set) && !slices.ContainsFunc(set, func(other Candidate) bool { return !slices.Contains(ids, other.Node.ID) })
}

// within restricts a NodeClaim to what was approved; false if nothing is left.
func (sim *Simulator) within(claim solve.NodeClaim, approved ApprovedReplacement) (solve.NodeClaim, bool) {
	reqs := claim.Requirements
	for key, values := range map[string][]string{capacityTypeKey: approved.CapacityTypes, zoneKey: approved.Zones} {
		have := reqs.Get(key)
		left := slices.DeleteFunc(slices.Clone(values), func(v string) bool { return !have.Has(v) })
		switch {
		case len(values) == 0:
		case len(left) == 0:
			return solve.NodeClaim{}, false
		default:
			reqs = reqs.Replace(requirement.New(key, requirement.In, left...).WithMinValues(have.MinValues()))
		}
	}
	list := slices.DeleteFunc(quotes(sim.typesOf(claim), reqs), func(q quote) bool { return !slices.Contains(approved.InstanceTypes, q.it.Name) })
	if len(list) == 0 || unmetMinValues(list, reqs) != "" {
		return solve.NodeClaim{}, false
	}
	return restrictClaim(claim, list, reqs), true
}

// Proposal is that a node is part of a plan that a person has not approved.
type Proposal struct {
	// Plan is the name of the plan, Reason that of the disruption.
	Plan   string
	Reason Reason
	// Rejected is set if the plan was rejected. Otherwise it waits.
	Rejected bool
}

// holds reports whether the proposal keeps the node from being disrupted for a reason. A plan that waits holds its node for all reasons except
// repair, which is urgent; a rejected one for that reason only.
func (p Proposal) holds(reason Reason) bool {
	return p.Plan != "" && (p.Reason == reason || !p.Rejected && reason != Unhealthy)
}

// held is the obstacle that the node is part of a plan; false if it is not.
func (c Candidate) held(reason Reason) (Obstacle, bool) {
	if !c.Proposal.holds(reason) {
		return Obstacle{}, false
	}
	code := awaitingApproval
	if c.Proposal.Rejected {
		code = planRejected
	}
	return Obstacle{Code: code, Node: c.Node, Detail: c.Proposal.Plan}, true
}

// Temporary reports whether an obstacle may end without a change of the node, its pods or its pool, so that an approved plan waits for that.
func (o Obstacle) Temporary() bool {
	if o.Passes {
		return true
	}
	switch o.Code {
	case InCommand, Rebooting, NotRegistered, NotInitialized, Nominated, PDBBlocked, PodsUnknown, HeadroomUnknown, NotConsolidatable,
		NodePoolBudgetExhausted, podGroupBlocked, podGroupOverBudget, Surplus, NodeInBackoff, PoolInBackoff, IsDestination, NoTypes,
		outsideWindow, frozen, invalidPolicy, notTogether, NotReached, NodeLimit, reservationsFull, reservationsUnknown, underMaintenance,
		tooManyUnhealthy:
		return true
	}
	return false
}

// OfPlan reports whether a node is left alone because of a DisruptionPlan.
func (c Code) OfPlan() bool { return c == awaitingApproval || c == planRejected }
