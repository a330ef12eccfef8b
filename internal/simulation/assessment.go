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
}

// Assess returns the assessment at a time. underway are commands whose completion is assumed; their nodes are no candidates. inBackoff are the names
// of NodeClaims that are left alone because commands for them failed. Errors are those of the provider that lists instance types.
func (v DisruptionView) Assess(ctx context.Context, now time.Time, underway []disrupt.Command, inBackoff map[string]bool) (Assessment, error) {
	a := Assessment{
		Qualification: problem.Qualification(v.Snapshot, now, v.Pools, v.Surplus, nil),
		PodObstacles:  map[string]disrupt.Obstacle{},
	}
	a.Qualification.Backoff = inBackoff
	for _, command := range underway {
		for _, id := range command.IDs() {
			if a.Qualification.InCommand == nil {
				a.Qualification.InCommand = map[string]bool{}
			}
			a.Qualification.InCommand[id] = true
		}
	}
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
		Budgets: v.PDBs, Unevictable: unevictable, Underway: underway, PriceOf: v.PriceOf,
	})
	return a, err
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
