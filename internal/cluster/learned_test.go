package cluster

import (
	"maps"
	"slices"
	"strings"
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

func TestWhatWasLearnedOfDeletedPoolsIsDropped(t *testing.T) {
	s := newStore()
	pool := func(name, class string) *v1.NodePool {
		p := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}
		p.Spec.Template.Spec.NodeClassRef = &v1.NodeClassReference{Group: "test.sh", Kind: "Class", Name: class}
		return p
	}
	add := func(name, pool, class string, minute int) {
		node, claim := featureNode(name, minute, "amd64", "A")
		node.Labels[v1.NodePoolLabelKey] = pool // the NodeClaim has the same map
		claim.Spec.NodeClassRef.Name = class
		s.UpdateNodeClaim(claim)
		s.UpdateNode(node)
	}
	learned := func(step, pools, classes string) {
		t.Helper()
		got := s.Snapshot().Learned
		names := slices.Sorted(maps.Keys(got.Pools))
		var of []string
		for class := range got.Classes {
			_, name, _ := strings.Cut(class, "=")
			of = append(of, name)
		}
		slices.Sort(of)
		if strings.Join(names, " ") != pools || strings.Join(of, " ") != classes {
			t.Errorf("%s: learned of pools %v and classes %v, want %s and %s", step, names, of, pools, classes)
		}
	}
	for _, p := range []*v1.NodePool{pool("kept", "a"), pool("drained", "a"), pool("gone", "b"), pool("replaced", "c")} {
		s.Pools.UpdateNodePool(p)
	}
	add("n1", "kept", "a", 1)
	add("n2", "drained", "a", 2)
	add("n3", "gone", "b", 3)
	add("n4", "replaced", "c", 4)
	learned("four pools", "drained gone kept replaced", "a b c")

	s.DeleteNode("n3")
	s.DeleteNodeClaim("n3")
	s.Pools.DeleteNodePool("gone")
	learned("a pool without nodes is deleted", "drained kept replaced", "a b c") // class b is kept for a successor
	s.Pools.DeleteNodePool("drained")
	learned("a pool with a node is deleted", "kept replaced", "a c")
	add("n2", "drained", "a", 2)
	add("n5", "drained", "a", 5)
	learned("its nodes change", "kept replaced", "a c")
	s.Pools.DeleteNodePool("replaced")
	s.Pools.UpdateNodePool(pool("replaced", "c"))
	add("n6", "replaced", "c", 6)
	learned("a pool is created again", "kept replaced", "a c")
	for _, name := range []string{"n2", "n5"} {
		s.DeleteNode(name)
		s.DeleteNodeClaim(name)
	}
	s.Snapshot()
	s.Pools.DeleteNodePool("kept")
	if len(s.learned.deleted) != 1 {
		t.Errorf("deleted pools without nodes are remembered: %v", s.learned.deleted)
	}
}
