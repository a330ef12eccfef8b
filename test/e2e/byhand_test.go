package e2e

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// TestClaimMadeByHand: a NodeClaim created by a user is launched, registered and initialized, its node has what the claim specifies, and
// both are removed when the claim is deleted.
func TestClaimMadeByHand(t *testing.T) {
	t.Attr("covers", "C558 C559")
	t.Parallel()
	w := begin(t)
	w.controller()
	taint := corev1.Taint{Key: "example.com/dedicated", Value: "lab", Effect: corev1.TaintEffectNoSchedule}
	claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: "by-hand", Labels: map[string]string{"example.com/team": "blue"}, Annotations: map[string]string{"example.com/note": "hello"},
	}}
	claim.Spec.NodeClassRef = &v1.NodeClassReference{Group: v1alpha1.Group, Kind: "KWOKNodeClass", Name: className}
	claim.Spec.Requirements = []v1.NodeSelectorRequirementWithMinValues{
		in(corev1.LabelInstanceTypeStable, "c-4x-amd64-linux"), in(corev1.LabelTopologyZone, "test-zone-b"),
	}
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	claim.Spec.Taints = []corev1.Taint{taint}
	w.create(class(), claim)
	w.awaitNodes(1)

	node := w.nodes()[0]
	for key, want := range map[string]string{
		"example.com/team": "blue", corev1.LabelInstanceTypeStable: "c-4x-amd64-linux", corev1.LabelTopologyZone: "test-zone-b",
		v1.CapacityTypeLabelKey: v1.CapacityTypeSpot, v1.NodeRegisteredLabelKey: "true", v1.NodeInitializedLabelKey: "true",
	} {
		if got := node.Labels[key]; got != want {
			t.Errorf("the node has the label %s=%q, want %q", key, got, want)
		}
	}
	if got := node.Annotations["example.com/note"]; got != "hello" {
		t.Errorf("the node has the annotation %q", got)
	}
	if len(node.Spec.Taints) != 1 || !node.Spec.Taints[0].MatchTaint(&taint) || node.Spec.Taints[0].Value != "lab" {
		t.Errorf("the node has the taints %v", node.Spec.Taints)
	}
	if w.get(claim); claim.Status.Capacity.Cpu().String() != "4" || claim.Status.NodeName != node.Name {
		t.Errorf("the claim has capacity %v and node %q", claim.Status.Capacity, claim.Status.NodeName)
	}
	w.delete(claim)
	w.awaitNothing(patience)
}
