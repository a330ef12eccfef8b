package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/condition"
	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// clusterState is the cluster at one moment, or nearly so: nodes are read first, plans last, so that the approval of what is seen is seen, too.
type clusterState struct {
	nodes  []corev1.Node
	claims []v1.NodeClaim
	pods   []corev1.Pod
	plans  []opsv1alpha1.DisruptionPlan
}

func look(ctx context.Context, c client.Client) (clusterState, error) {
	var nodes corev1.NodeList
	var claims v1.NodeClaimList
	var pods corev1.PodList
	var plans opsv1alpha1.DisruptionPlanList
	for _, list := range []client.ObjectList{&nodes, &claims, &pods, &plans} {
		if err := c.List(ctx, list); err != nil {
			return clusterState{}, fmt.Errorf("reading the cluster: %w", err)
		}
	}
	return clusterState{nodes.Items, claims.Items, pods.Items, plans.Items}, nil
}

func (p clusterState) String() string {
	running := 0
	for i := range p.pods {
		if p.pods[i].Status.Phase == corev1.PodRunning && p.pods[i].DeletionTimestamp == nil {
			running++
		}
	}
	going := 0
	for i := range p.claims {
		if p.claims[i].DeletionTimestamp != nil {
			going++
		}
	}
	return fmt.Sprintf("%d nodeclaims (%d terminating), %d nodes, %d of %d pods running", len(p.claims), going, len(p.nodes), running, len(p.pods))
}

// cores is how many cores the node of a claim has. One that has not launched yet has at least those that are requested.
func cores(claim *v1.NodeClaim) int {
	for _, label := range []string{coresLabel, awsCoresLabel} {
		if n, err := strconv.Atoi(claim.Labels[label]); err == nil {
			return n
		}
	}
	return int(claim.Spec.Resources.Requests.Cpu().Value()) + 1
}

// capacity is how many pods of one core fit a node: a part of a core is reserved for the system.
func capacity(claim *v1.NodeClaim) int { return cores(claim) - 1 }

// units is what a node costs, in nodes of two cores: one with twice the cores costs twice as much.
func units(claim *v1.NodeClaim) int { return cores(claim) / 2 }

// cheapest is the minimum cost of nodes for this many pods, in units.
func cheapest(pods int) int {
	best := make([]int, max(pods, 0)+1)
	for n := 1; n < len(best); n++ {
		best[n] = min(best[n-1]+1, best[max(n-3, 0)]+2)
	}
	return best[len(best)-1]
}

// has reports whether a node has a taint.
func has(node *corev1.Node, key string) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
}

// nodeOf is the node of a claim; nil if there is none.
func (p clusterState) nodeOf(claim *v1.NodeClaim) *corev1.Node {
	for i := range p.nodes {
		if claim.Status.ProviderID != "" && p.nodes[i].Spec.ProviderID == claim.Status.ProviderID {
			return &p.nodes[i]
		}
	}
	return nil
}

// claimOf is the claim of a node; nil if there is none.
func (p clusterState) claimOf(node *corev1.Node) *v1.NodeClaim {
	for i := range p.claims {
		if node.Spec.ProviderID != "" && p.claims[i].Status.ProviderID == node.Spec.ProviderID {
			return &p.claims[i]
		}
	}
	return nil
}

// claimed reports whether a claim has this instance.
func (p clusterState) claimed(instance string) bool {
	return slices.ContainsFunc(p.claims, func(c v1.NodeClaim) bool { return strings.HasSuffix(c.Status.ProviderID, "/"+instance) })
}

// disrupting reports whether the controller is disrupting the node of a claim, and its instance is not terminating yet: the node is tainted
// as disrupted, or the claim is being deleted with a disruption reason. A reason alone has no effect; one whose write was answered with an
// error may be there for a moment.
func (p clusterState) disrupting(claim *v1.NodeClaim) bool {
	is := func(kind string) bool { return condition.Status(claim, kind) == metav1.ConditionTrue }
	if claim.DeletionTimestamp != nil {
		return is(v1.ConditionTypeDisruptionReason) && !is(v1.ConditionTypeInstanceTerminating)
	}
	node := p.nodeOf(claim)
	return node != nil && node.DeletionTimestamp == nil && has(node, v1.DisruptedTaintKey)
}

// disrupted is how many nodes the controller is disrupting, and how many of them are being deleted already.
func (p clusterState) disrupted() (all, going int) {
	for i := range p.claims {
		if claim := &p.claims[i]; p.disrupting(claim) {
			all++
			if claim.DeletionTimestamp != nil {
				going++
			}
		}
	}
	return all, going
}

// lasting is the capacity of the nodes that are not being deleted.
func (p clusterState) lasting() int {
	sum := 0
	for i := range p.claims {
		if claim := &p.claims[i]; claim.DeletionTimestamp == nil && !p.disrupting(claim) {
			sum += capacity(claim)
		}
	}
	return sum
}

// untouchable reports whether a node may not be disrupted.
func (p clusterState) untouchable(node *corev1.Node) bool {
	return node.Annotations[v1.DoNotDisruptAnnotationKey] == "true" || slices.ContainsFunc(p.pods, func(pod corev1.Pod) bool {
		return pod.Spec.NodeName == node.Name && pod.Labels["app"] == guarded
	})
}
