package cluster

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// featureNode is a node of pool "default" that was created at a minute, with its NodeClaim.
func featureNode(name string, minute int, arch string, features ...string) (*corev1.Node, *v1.NodeClaim) {
	labels := map[string]string{
		v1.NodePoolLabelKey: "default", v1.NodeRegisteredLabelKey: "true", v1.NodeInitializedLabelKey: "true",
		corev1.LabelInstanceTypeStable: "large", corev1.LabelArchStable: arch, corev1.LabelOSStable: "linux",
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, CreationTimestamp: metav1.NewTime(time.Unix(int64(60*minute), 0))},
		Spec:       corev1.NodeSpec{ProviderID: "test:///" + name},
	}
	node.Status.DeclaredFeatures = features
	node.Status.NodeInfo.KubeletVersion = "v1.37.1-eks-abc"
	claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, Annotations: map[string]string{v1.NodePoolHashAnnotationKey: "1"}}}
	claim.Spec.NodeClassRef = &v1.NodeClassReference{Group: "test.sh", Kind: "Class", Name: "class"}
	claim.Status.ProviderID = "test:///" + name
	return node, claim
}

func TestFeaturesAreLearnedFromTheNewestNodes(t *testing.T) {
	t.Attr("covers", "N425 N426 N428")
	s := newStore()
	add := func(name string, minute int, arch string, features ...string) {
		node, claim := featureNode(name, minute, arch, features...)
		s.UpdateNodeClaim(claim)
		s.UpdateNode(node)
	}
	learned := func(step string, want ...string) {
		t.Helper()
		got := s.Snapshot().Learned
		if diff := cmp.Diff(want, got.Pools["default"].NodeFeatures); diff != "" {
			t.Errorf("%s: %s", step, diff)
		}
		if got.Kubelet != 37 || got.Pools["default"].Hash != "1" {
			t.Errorf("%s: %+v", step, got)
		}
	}
	add("a", 1, "amd64", "A", "B")
	learned("first node", "A", "B")
	add("b", 2, "amd64", "B")
	learned("newer node lacks A", "B")
	add("a", 1, "amd64", "A", "B", "C")
	learned("older node changes", "B")
	s.DeleteNode("b")
	s.DeleteNodeClaim("b")
	learned("newer node is gone", "B")
	add("c", 3, "arm64", "C")
	learned("nodes of two architectures", []string{}...)
	before := s.ConsolidationState(time.Unix(1e6, 0))
	add("d", 4, "amd64", "B", "C")
	learned("one in common", "C")
	add("d", 4, "amd64", "C", "D")
	if s.ConsolidationState(time.Unix(1e6, 0)) == before {
		t.Error("a changed feature does not count as a change of the cluster")
	}
}
