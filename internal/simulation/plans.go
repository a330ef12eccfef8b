package simulation

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/problem"
)

// disruptionPlans are the DisruptionPlans that count, with the NodeClaims that they may name.
type disruptionPlans struct {
	all []*opsv1alpha1.DisruptionPlan
	// claims are the NodeClaims by name.
	claims map[string]*v1.NodeClaim
}

// plansOf are the DisruptionPlans that count: none, unless the feature gate for them is on.
func (w *clusterObjects) plansOf(opts Options) disruptionPlans {
	if !opts.OperationsPolicies || len(w.plans) == 0 {
		return disruptionPlans{}
	}
	out := disruptionPlans{all: slices.Clone(w.plans), claims: map[string]*v1.NodeClaim{}}
	slices.SortFunc(out.all, func(a, b *opsv1alpha1.DisruptionPlan) int { return strings.Compare(a.Name, b.Name) })
	for _, claim := range w.claims {
		out.claims[claim.Name] = claim
	}
	return out
}

// proposals are the plans that nodes are part of at a time, by node ID: those of the cluster and others. As in the controller, a plan that waits
// comes before one that was rejected.
func (v DisruptionView) proposals(now time.Time, others map[string]disrupt.Proposal) map[string]disrupt.Proposal {
	if len(v.plans.all) == 0 {
		return others
	}
	nodes := map[string]*model.Node{}
	for _, n := range v.Snapshot.Nodes.All() {
		if n.ClaimName != "" {
			nodes[n.ClaimName] = n
		}
	}
	out := map[string]disrupt.Proposal{}
	for _, plan := range v.plans.all {
		held, ok := problem.ProposalOf(plan, now)
		if !ok || held.Rejected && v.plans.changed(plan, v, nodes, now) {
			continue
		}
		for _, planned := range plan.Spec.Nodes {
			n, claim := nodes[planned.NodeClaim], v.plans.claims[planned.NodeClaim]
			if n == nil || claim == nil || string(claim.UID) != planned.NodeClaimUID {
				continue
			}
			if before, ok := out[n.ID]; !ok || before.Rejected {
				out[n.ID] = held
			}
		}
	}
	maps.Copy(out, others)
	return out
}

// changed reports whether what a plan rests on is not what it was.
func (p disruptionPlans) changed(plan *opsv1alpha1.DisruptionPlan, v DisruptionView, nodes map[string]*model.Node, now time.Time) bool {
	var candidates []disrupt.Candidate
	for _, planned := range plan.Spec.Nodes {
		claim, n := p.claims[planned.NodeClaim], nodes[planned.NodeClaim]
		if claim == nil || string(claim.UID) != planned.NodeClaimUID || n == nil {
			return true
		}
		candidates = append(candidates, disrupt.Candidate{
			Node: n, PodsToMove: slices.DeleteFunc(slices.Clone(n.Pods), func(p *model.Pod) bool { return !p.Reschedulable }),
		})
	}
	evictions, _ := problem.Evictions(candidates, func(node string) []*corev1.Pod { return v.Pods[node] }, v.PDBs, now)
	return problem.PlanInputs(plan.Spec.Method, plan.Spec.Nodes, evictions, v.Pools) != plan.Spec.InputHash
}
