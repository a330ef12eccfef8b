package disruption

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/nodelookup"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
	"github.com/karpenter-anew/karpenter/internal/problem"
)

// impact is what a command does to pods.
type impact struct {
	evictions []opsv1alpha1.PlannedEviction
	// risk is the number of pods that are evicted without protection.
	risk int
}

// impactOf counts the pods that have to leave the nodes by owner.
func (g *gatherer) impactOf(ctx context.Context, v view, candidates []disrupt.Candidate) (impact, error) {
	on := map[string][]*corev1.Pod{}
	for _, candidate := range candidates {
		node := candidate.Node.NodeName
		var list corev1.PodList
		if err := g.Client.List(ctx, &list, client.MatchingFields{nodelookup.PodNode: node}, client.UnsafeDisableDeepCopy); err != nil {
			return impact{}, fmt.Errorf("listing the pods of node %q: %w", node, err)
		}
		for i := range list.Items {
			on[node] = append(on[node], &list.Items[i])
		}
	}
	evictions, risk := problem.Evictions(candidates, func(node string) []*corev1.Pod { return on[node] }, v.budgets, v.now)
	return impact{evictions, risk}, nil
}

// dollars renders a price in dollars; empty if it is not known.
func dollars(price float64, known bool) string {
	if !known || math.IsNaN(price) || math.IsInf(price, 0) {
		return ""
	}
	return strconv.FormatFloat(price, 'f', 6, 64)
}

// planSpec is the proposal for a command.
func planSpec(v view, m disrupt.Method, work disrupt.Command, does impact) opsv1alpha1.DisruptionPlanSpec {
	spec := opsv1alpha1.DisruptionPlanSpec{
		Method: m.Name, Reason: opsv1alpha1.DisruptionReason(m.Reason), Action: work.Decision(), Evictions: does.evictions,
		SavingsPerHour: dollars(problem.SavingsOf(work), true), Risk: int32(does.risk), //nolint:gosec // a number of pods
	}
	for _, candidate := range work.Candidates {
		n := candidate.Node
		spec.Nodes = append(spec.Nodes, opsv1alpha1.PlannedNode{
			Name: n.NodeName, NodeClaim: n.ClaimName, NodeClaimUID: v.claimUID(n.ClaimName), NodePool: n.Pool,
			InstanceType: n.Labels[corev1.LabelInstanceTypeStable], Zone: n.Labels[corev1.LabelTopologyZone],
			CapacityType: n.Labels[v1.CapacityTypeLabelKey], PricePerHour: dollars(candidate.Price, candidate.Price > 0),
		})
	}
	for _, claim := range work.Replacements {
		spec.Replacements = append(spec.Replacements, plannedReplacement(claim))
	}
	if work.Static {
		spec.Replacements = []opsv1alpha1.PlannedReplacement{{NodePool: work.Candidates[0].Node.Pool}}
	}
	spec.FirstPods = slices.Sorted(maps.Keys(work.First))
	spec.InputHash = problem.PlanInputs(spec.Method, spec.Nodes, does.evictions, v.pools)
	return spec
}

func plannedReplacement(claim solve.NodeClaim) opsv1alpha1.PlannedReplacement {
	listed := func(key string) []string {
		if r := claim.Requirements.Get(key); !r.Complement() {
			return r.Values()
		}
		return nil
	}
	types := claim.InstanceTypes
	return opsv1alpha1.PlannedReplacement{
		NodePool: claim.Pool, InstanceTypes: types[:min(len(types), opsv1alpha1.MaxPlanInstanceTypes)],
		Zones: listed(corev1.LabelTopologyZone), CapacityTypes: listed(v1.CapacityTypeLabelKey), PricePerHour: dollars(claim.Price, true),
	}
}

// fits reports whether a proposal is within the limits of the API.
func fits(spec *opsv1alpha1.DisruptionPlanSpec) bool {
	return len(spec.Nodes) <= opsv1alpha1.MaxPlanNodes && len(spec.Replacements) <= opsv1alpha1.MaxPlanReplacements &&
		len(spec.Evictions) <= opsv1alpha1.MaxPlanEvictions && len(spec.FirstPods) <= opsv1alpha1.MaxPlanFirstPods
}

// planName is the name of a plan. Equal proposals have equal names, so that two leaders cannot create both; before identifies the newest plan
// that proposed the same and has ended.
func planName(spec *opsv1alpha1.DisruptionPlanSpec, before string) string {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%q %q %s", spec.InputHash, spec.Action, before) // never fails
	for _, r := range spec.Replacements {
		_, _ = fmt.Fprintf(h, "%q %q %q %q\n", r.NodePool, r.InstanceTypes, r.Zones, r.CapacityTypes)
	}
	return strings.ToLower(string(spec.Reason)) + "-" + hex.EncodeToString(h.Sum(nil))[:10]
}

// sameProposal reports whether two plans propose the same.
func sameProposal(a, b *opsv1alpha1.DisruptionPlanSpec) bool {
	return planName(a, "") == planName(b, "")
}

// approvedOf is what was approved, for the method that computes the command again.
func approvedOf(spec *opsv1alpha1.DisruptionPlanSpec) disrupt.Approved {
	out := disrupt.Approved{Decision: spec.Action}
	for _, r := range spec.Replacements {
		out.Replacements = append(out.Replacements, disrupt.ApprovedReplacement{
			Pool: r.NodePool, InstanceTypes: r.InstanceTypes, CapacityTypes: r.CapacityTypes, Zones: r.Zones,
		})
	}
	for _, uid := range spec.FirstPods {
		if out.First == nil {
			out.First = map[string]bool{}
		}
		out.First[uid] = true
	}
	return out
}

func (v view) claimUID(name string) string {
	if claim := v.claims[name]; claim != nil {
		return string(claim.UID)
	}
	return ""
}
