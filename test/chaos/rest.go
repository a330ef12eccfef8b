package main

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// spare is how much more expensive a steady cluster may be than the cheapest one, in nodes of two cores: consolidation proceeds in steps,
// and ends where no single step saves cost.
const spare = 3

// unrest lists why the cluster is not in a steady state: this many pods must run, every instance must have exactly one claim and one node,
// no object may be deleted or marked for disruption, no node be rebooting, no drifted node be replaceable, no disruption plan be open, and, if packed is set, the
// nodes not be more expensive than needed.
func (p clusterState) unrest(pods int, packed bool) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	running := 0
	for i := range p.pods {
		if p.pods[i].Status.Phase == corev1.PodRunning && p.pods[i].DeletionTimestamp == nil {
			running++
		}
	}
	if running != pods || len(p.pods) != pods {
		say("%d of %d pods running, %d are wanted", running, len(p.pods), pods)
	}
	owned := map[string]bool{}
	for i := range p.claims {
		claim := &p.claims[i]
		owned[claim.Status.ProviderID] = true
		if why := p.unrestOf(claim); why != "" {
			say("nodeclaim %s %s", claim.Name, why)
		}
	}
	for i := range p.nodes {
		node := &p.nodes[i]
		switch {
		case !owned[node.Spec.ProviderID]:
			say("the instance of node %s has no nodeclaim", node.Name)
		case node.DeletionTimestamp != nil:
			say("node %s was deleted at %s and is held by %s", node.Name, node.DeletionTimestamp, strings.Join(node.Finalizers, ", "))
		case has(node, v1.DisruptedTaintKey) || has(node, v1.UnregisteredTaintKey) || has(node, v1.RebootingTaintKey):
			say("node %s has the taints %v", node.Name, node.Spec.Taints)
		}
	}
	for i := range p.plans {
		if plan := &p.plans[i]; !plan.Status.Phase.Final() {
			say("disruption plan %s is %s", plan.Name, plan.Status.Phase)
		}
	}
	if packed {
		if have, most := p.cost(), p.worthwhile(pods)+spare; have > most {
			say("the nodes cost as much as %d of two cores, and %d are enough", have, most)
		}
	}
	return out
}

// unrestOf is why a claim is not in a steady state; "" if it is.
func (p clusterState) unrestOf(claim *v1.NodeClaim) string {
	node := p.nodeOf(claim)
	is := func(kind string) bool { return condition.Status(claim, kind) == metav1.ConditionTrue }
	switch {
	case claim.DeletionTimestamp != nil:
		return fmt.Sprintf("was deleted at %s and is held by %s", claim.DeletionTimestamp, strings.Join(claim.Finalizers, ", "))
	case !is(v1.ConditionTypeInitialized):
		return "is not initialized"
	case node == nil:
		return fmt.Sprintf("has no instance %q", claim.Status.ProviderID)
	case is(v1.ConditionTypeRebooting):
		return "is rebooting"
	case is(v1.ConditionTypeDisruptionReason):
		return "is marked for disruption"
	case is(v1.ConditionTypeDrifted) && !p.untouchable(node) && !p.rejected(claim):
		return "is drifted"
	}
	return ""
}

// cost is what all nodes cost, in units.
func (p clusterState) cost() int {
	sum := 0
	for i := range p.claims {
		sum += units(&p.claims[i])
	}
	return sum
}

// worthwhile is the minimum cost of nodes for this many pods, given those that must not be disrupted and those whose disruption was rejected.
func (p clusterState) worthwhile(pods int) int {
	sum := 0
	for i := range p.claims {
		if node := p.nodeOf(&p.claims[i]); node != nil && (p.untouchable(node) || p.rejected(&p.claims[i])) {
			sum += units(&p.claims[i])
			pods -= capacity(&p.claims[i])
		}
	}
	return sum + cheapest(pods)
}
