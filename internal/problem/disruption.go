package problem

import (
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/api/podrules"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
)

// Disruption is what the input of disruption simulations is built from beside the objects of the cluster.
type Disruption struct {
	Snapshot *model.Snapshot
	Now      time.Time
	// Pools are the rules of the managed NodePools, as Qualification returns them.
	Pools map[string]disrupt.Pool
	// Candidates are the nodes whose pods simulations may move.
	Candidates []disrupt.Candidate
	// Budgets are the PodDisruptionBudgets, Unevictable the UIDs of pods of candidates that may not be moved now. Those of Underway are added.
	Budgets     podrules.Budgets
	Unevictable map[string]bool
	// Underway are the commands whose completion is assumed.
	Underway []disrupt.Command
	// PriceOf is the price of a node in dollars an hour; 0 when it is not known.
	PriceOf func(*model.Node) float64
}

// Disruption is the input of simulations, and the pods of nodes being deleted that these do not consider. Unlike provisioning,
// simulations do not wait for reserved capacity to become available.
func (b Builder) Disruption(ctx context.Context, d Disruption) (input *disrupt.SimulationInput, ignored []*model.Pod, err error) {
	in, leaving := b.input(d.Snapshot, solve.ReservedFallback)
	in.Rejected = nil
	if err := b.addMoving(ctx, &in, leaving, d.Budgets, d.Now); err != nil {
		return nil, nil, err
	}
	if in.Problem.Nodes, err = b.expectStaticCapacity(ctx, in.Problem.Nodes); err != nil {
		return nil, nil, err
	}
	unevictable, err := b.unevictable(ctx, d)
	if err != nil {
		return nil, nil, err
	}
	resized, err := b.resizedPods(ctx, d.Candidates)
	if err != nil {
		return nil, nil, err
	}
	if err := b.AddPools(ctx, d.Snapshot, &in); err != nil {
		return nil, nil, err
	}
	return &disrupt.SimulationInput{
		Problem: in.Problem, Pools: d.Pools, Now: d.Now, Unevictable: unevictable, Resized: resized, Underway: d.Underway,
		SpotToSpot: b.Policy.SpotToSpot, OpensDestinations: b.Policy.OpensDestinations, Totals: disrupt.TotalsOf(d.Snapshot, d.Candidates, d.PriceOf),
	}, in.Rejected, nil
}

// unevictable are the UIDs of pods that may not be moved now: those of the candidates, and those of the commands under way, which are no
// candidates any more.
func (b Builder) unevictable(ctx context.Context, d Disruption) (map[string]bool, error) {
	out := make(map[string]bool, len(d.Unevictable))
	maps.Copy(out, d.Unevictable)
	for _, command := range d.Underway {
		for _, c := range command.Candidates {
			pods, err := b.Reader.PodsOn(ctx, c.Node.NodeName)
			if err != nil {
				return nil, fmt.Errorf("listing the pods of node %q: %w", c.Node.NodeName, err)
			}
			for _, pod := range pods {
				if !podrules.CurrentlyReschedulable(pod, d.Budgets, d.Now) {
					out[string(pod.UID)] = true
				}
			}
		}
	}
	return out, nil
}

// Qualification is the input of disrupt.Qualify for managed NodePools, by name. surplus are static pools with more nodes than
// replicas, inBackoff pools that launch no replacements because some failed. What only a running controller knows of nodes
// is the caller's to add.
func Qualification(snapshot *model.Snapshot, now time.Time, pools map[string]*v1.NodePool, surplus, inBackoff map[string]bool) disrupt.QualifyInput {
	rules := make(map[string]disrupt.Pool, len(pools))
	for name, pool := range pools {
		r := disruptionRules(pool)
		r.Surplus, r.HeadroomUnknown, r.InBackoff = surplus[name], snapshot.HeadroomUnknown, inBackoff[name]
		r.TooManyUnhealthy = snapshot.Health[name].TooMany()
		rules[name] = r
	}
	return disrupt.QualifyInput{Snapshot: snapshot, Now: now, Pools: rules}
}

// PodsOnNode is what the pods of a node mean for its disruption.
type PodsOnNode struct {
	// Obstacle is the first obstacle among the pods, if Blocked is set.
	Obstacle disrupt.Obstacle
	Blocked  bool
	// Unevictable are the UIDs of pods that may not be moved now.
	Unevictable []string
	// PDBLimits are the PodDisruptionBudgets that slow down the drain, the slowest first.
	PDBLimits []PDBLimit
}

// InspectPods is what pods mean for the disruption of their node n.
func InspectPods(n *model.Node, pods []*corev1.Pod, budgets podrules.Budgets, limits PDBLimits, now time.Time) PodsOnNode {
	out := PodsOnNode{PDBLimits: limits.Of(pods, now)}
	out.Obstacle, out.Blocked = podObstacle(n, pods, budgets, now)
	for _, pod := range pods {
		if !podrules.CurrentlyReschedulable(pod, budgets, now) {
			out.Unevictable = append(out.Unevictable, string(pod.UID))
		}
	}
	return out
}

// DrainRounds is the minimum number of rounds in which PodDisruptionBudgets let the pods be evicted; 0 if no budget limits them.
func (p PodsOnNode) DrainRounds() int {
	if len(p.PDBLimits) == 0 {
		return 0
	}
	return p.PDBLimits[0].Rounds()
}
