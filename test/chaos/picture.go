package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// picture is the cluster at one moment, or nearly so: nodes are read first, pods last.
type picture struct {
	nodes  []corev1.Node
	claims []v1.NodeClaim
	pods   []corev1.Pod
}

func look(ctx context.Context, c client.Client) (picture, error) {
	var nodes corev1.NodeList
	var claims v1.NodeClaimList
	var pods corev1.PodList
	for _, list := range []client.ObjectList{&nodes, &claims, &pods} {
		if err := c.List(ctx, list); err != nil {
			return picture{}, fmt.Errorf("looking at the cluster: %w", err)
		}
	}
	return picture{nodes.Items, claims.Items, pods.Items}, nil
}

func (p picture) String() string {
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
	return fmt.Sprintf("%d nodeclaims (%d go), %d nodes, %d pods run of %d", len(p.claims), going, len(p.nodes), running, len(p.pods))
}

// cores is how many cores the machine of a claim has. One that has not been launched yet has at least those that are asked of it.
func cores(claim *v1.NodeClaim) int {
	if n, err := strconv.Atoi(claim.Labels[coresLabel]); err == nil {
		return n
	}
	return int(claim.Spec.Resources.Requests.Cpu().Value()) + 1
}

// room is for how many pods of one core a machine has room: a part of a core is the system's.
func room(claim *v1.NodeClaim) int { return cores(claim) - 1 }

// units is what a machine costs, in machines of two cores: one with twice the cores costs twice as much.
func units(claim *v1.NodeClaim) int { return cores(claim) / 2 }

// cheapest is what machines for so many pods cost at least, in units.
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
func (p picture) nodeOf(claim *v1.NodeClaim) *corev1.Node {
	for i := range p.nodes {
		if claim.Status.ProviderID != "" && p.nodes[i].Spec.ProviderID == claim.Status.ProviderID {
			return &p.nodes[i]
		}
	}
	return nil
}

// chosen reports whether the controller is disrupting the machine of a claim of its own will, and the machine is not about to end: its node is
// closed to pods, or it goes for a reason of the controller. A reason alone does nothing; one that was written when nobody heard of it may be
// there for a moment.
func (p picture) chosen(claim *v1.NodeClaim) bool {
	is := func(kind string) bool { return condition.Status(claim, kind) == metav1.ConditionTrue }
	if claim.DeletionTimestamp != nil {
		return is(v1.ConditionTypeDisruptionReason) && !is(v1.ConditionTypeInstanceTerminating)
	}
	node := p.nodeOf(claim)
	return node != nil && node.DeletionTimestamp == nil && has(node, v1.DisruptedTaintKey)
}

// disrupted is how many machines the controller is disrupting of its own will, and how many of them go already.
func (p picture) disrupted() (all, going int) {
	for i := range p.claims {
		if claim := &p.claims[i]; p.chosen(claim) {
			all++
			if claim.DeletionTimestamp != nil {
				going++
			}
		}
	}
	return all, going
}

// lasting is the room of the machines that are there to stay.
func (p picture) lasting() int {
	sum := 0
	for i := range p.claims {
		if claim := &p.claims[i]; claim.DeletionTimestamp == nil && !p.chosen(claim) {
			sum += room(claim)
		}
	}
	return sum
}

// untouchable reports whether a node may not be disrupted.
func (p picture) untouchable(node *corev1.Node) bool {
	return node.Annotations[v1.DoNotDisruptAnnotationKey] == "true" || slices.ContainsFunc(p.pods, func(pod corev1.Pod) bool {
		return pod.Spec.NodeName == node.Name && pod.Labels["app"] == guarded
	})
}
