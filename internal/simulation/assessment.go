package simulation

import (
	"context"
	"time"

	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/problem"
)

// Assessment is which nodes of a view can be disrupted, and the input of simulations without them.
type Assessment struct {
	// Qualification is what candidates were chosen from.
	Qualification disrupt.QualifyInput
	// Candidates are the nodes that no property of the node excludes from disruption, Excluded the obstacles of the others.
	Candidates []disrupt.Candidate
	Excluded   []disrupt.Obstacle
	// PodObstacles are the obstacles among the pods of candidates, by node ID.
	PodObstacles map[string]disrupt.Obstacle
	Input        *disrupt.SimulationInput
	// Operations is what OperationsPolicies say at the time.
	Operations problem.Operations

	view DisruptionView
	// simulators by what they are compiled for; made when first needed.
	simulators map[disrupt.Simulation]*disrupt.Simulator
}

// InProgress is what the controller knows at a time about its commands, beside the cluster.
type InProgress struct {
	// Underway are commands whose completion is assumed.
	Underway []disrupt.Command
	// InCommand are the IDs of nodes of commands, which are no candidates.
	InCommand map[string]bool
	// Backoff are the names of NodeClaims that are left alone because commands for them failed, GroupBackoff of those that are considered only
	// by themselves.
	Backoff, GroupBackoff map[string]bool
	// Proposals are the plans that nodes are part of, by node ID, beside the DisruptionPlans of the cluster.
	Proposals map[string]disrupt.Proposal
}

// Assess returns the assessment at a time. Errors are those of the provider that lists instance types.
func (v DisruptionView) Assess(ctx context.Context, now time.Time, in InProgress) (Assessment, error) {
	a := Assessment{
		Qualification: problem.Qualification(v.Snapshot, now, v.Pools, v.Surplus, nil),
		PodObstacles:  map[string]disrupt.Obstacle{},
		Operations:    problem.NewOperations(v.policies, v.Pools, now),
		view:          v, simulators: map[disrupt.Simulation]*disrupt.Simulator{},
	}
	a.Operations.Apply(a.Qualification.Pools)
	a.Qualification.InCommand, a.Qualification.Backoff, a.Qualification.GroupBackoff = in.InCommand, in.Backoff, in.GroupBackoff
	a.Qualification.Proposals = v.proposals(now, a.Operations, in.Proposals)
	a.Candidates, a.Excluded = disrupt.Qualify(a.Qualification)
	unevictable := map[string]bool{}
	for i := range a.Candidates {
		c := &a.Candidates[i]
		v.Prices[c.Node.Pool].Set(c)
		found := problem.InspectPods(c.Node, v.Pods[c.Node.NodeName], v.PDBs, v.PDBLimits, now)
		c.DrainRounds = found.DrainRounds()
		if found.Blocked {
			a.PodObstacles[c.Node.ID] = found.Obstacle
		}
		for _, uid := range found.Unevictable {
			unevictable[uid] = true
		}
	}
	var err error
	a.Input, _, err = v.Builder.Disruption(ctx, problem.Disruption{
		Snapshot: v.Snapshot, Now: now, Pools: a.Qualification.Pools, Candidates: a.Candidates,
		Budgets: v.PDBs, Unevictable: unevictable, Underway: problem.Standing(in.Underway, v.Snapshot), PriceOf: v.PriceOf,
	})
	return a, err
}

// Decide runs a method for candidates without obstacles.
func (a Assessment) Decide(m disrupt.Method, fit []disrupt.Candidate, budgets disrupt.Budgets) disrupt.Decision {
	return a.DecideUntil(m, fit, budgets, func() bool { return false })
}

// DecideUntil is Decide that ends early once expired reports true; the decision is not reproducible then.
func (a Assessment) DecideUntil(m disrupt.Method, fit []disrupt.Candidate, budgets disrupt.Budgets, expired func() bool) disrupt.Decision {
	session := a.Input.Serial(a.Simulator(m.Simulates), budgets, a.view.Grant)
	// What is left in capacity reservations is not known here, only how many nodes a static pool has.
	session.TerminateFirstStatic = a.view.terminateFirstDrift && m.Reason == disrupt.Drifted
	session.TerminateFirst = session.TerminateFirstStatic
	session.Expired = expired
	return m.Decide(session, fit)
}

// Simulator is compiled for all candidates; nil for NoSimulation.
func (a Assessment) Simulator(kind disrupt.Simulation) *disrupt.Simulator {
	if a.simulators[kind] == nil && kind != disrupt.NoSimulation {
		a.simulators[kind] = a.Input.Simulator(a.Candidates, kind)
	}
	return a.simulators[kind]
}

// PriceOf is the price of a node in dollars an hour; 0 when it is not known.
func (v DisruptionView) PriceOf(n *model.Node) float64 { return v.Prices[n.Pool].Of(n) }

// Grant is how many of the wanted nodes a static pool may have beside those that exist.
func (v DisruptionView) Grant(pool string, wanted int) int {
	limit, limited := v.Pools[pool].Spec.Limits.Nodes()
	if !limited {
		return wanted
	}
	n := 0
	for _, node := range v.Snapshot.Nodes.Sorted() {
		if node.Managed && node.Pool == pool {
			n++
		}
	}
	return min(max(int(limit)-n, 0), wanted)
}
