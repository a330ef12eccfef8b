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

// proposals are the plans that nodes are part of at a time, by node ID: those of the cluster and others.
func (v DisruptionView) proposals(now time.Time, operations problem.Operations, others map[string]disrupt.Proposal) map[string]disrupt.Proposal {
	if len(v.plans.all) == 0 {
		return others
	}
	basis := problem.PlanBasis{
		Claims: v.plans.claims, Pools: v.Pools, Nodes: map[string]*model.Node{}, Operations: operations,
		Evictions: func(candidates []disrupt.Candidate) ([]opsv1alpha1.PlannedEviction, error) {
			list, _ := problem.Evictions(candidates, func(node string) []*corev1.Pod { return v.Pods[node] }, v.PDBs, now)
			return list, nil
		},
	}
	for _, n := range v.Snapshot.Nodes.All() {
		if n.ClaimName != "" {
			basis.Nodes[n.ClaimName] = n
		}
	}
	out := map[string]disrupt.Proposal{}
	for _, plan := range v.plans.all {
		basis.Hold(out, plan, now)
	}
	maps.Copy(out, others)
	return out
}
