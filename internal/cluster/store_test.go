package cluster

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	coreresource "github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

func newStore() *Store {
	c := cloud.Cloud{
		Name:        "test",
		Labels:      v1.CoreLabelRules(),
		NodeClasses: []cloud.NodeClass{{GVK: schema.GroupVersionKind{Group: "test.sh", Version: "v1", Kind: "Class"}}},
	}
	return NewStore(c, translate.New(c.Labels))
}

func claim(name, providerID string) *v1.NodeClaim {
	return &v1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.NodePoolLabelKey: "default"}},
		Spec: v1.NodeClaimSpec{
			NodeClassRef: &v1.NodeClassReference{Group: "test.sh", Kind: "Class", Name: "default"},
			Resources:    v1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}},
		},
		Status: v1.NodeClaimStatus{
			ProviderID:  providerID,
			Capacity:    corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("8")},
			Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("7")},
		},
	}
}

func node(name, providerID string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelInstanceTypeStable: "m-8x"}},
		Spec:       corev1.NodeSpec{ProviderID: providerID},
		Status: corev1.NodeStatus{
			Capacity:    corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("8")},
			Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("7")},
		},
	}
}

func boundPod(name, nodeName string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)},
		Spec: corev1.PodSpec{NodeName: nodeName, Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
		}}}},
	}
}

func TestAnUnlaunchedClaimCountsAsWhatWasRequested(t *testing.T) {
	s := newStore()
	s.Created(claim("a", ""), time.Now())
	n, ok := s.Snapshot().Nodes.Get("nodeclaim/a")
	if !ok || n.Launched || n.Allocatable.At(coreresource.CPU) != 2000 {
		t.Fatalf("got %+v, want a node of 2 cores that is not launched", n)
	}
}

func TestALaunchedClaimKeepsItsNomination(t *testing.T) {
	s := newStore()
	s.UpdateNodeClaim(claim("a", ""))
	until := time.Now().Add(time.Minute)
	s.Nominate(until, "nodeclaim/a")
	s.UpdateNodeClaim(claim("a", "test://1"))
	snapshot := s.Snapshot()
	n, ok := snapshot.Nodes.Get("test://1")
	if !ok || !n.Launched || n.Allocatable.At(coreresource.CPU) != 7000 || n.NominatedUntil != until.UnixNano() {
		t.Fatalf("got %+v, want the launched node, nominated", n)
	}
	if snapshot.Nodes.Len() != 1 {
		t.Errorf("%d nodes in the snapshot, want 1: the entry of the unlaunched claim must go", snapshot.Nodes.Len())
	}
}

func TestEventsMayArriveInAnyOrder(t *testing.T) {
	t.Attr("covers", "L381")
	pod := boundPod("p", "n")
	steps := map[string]func(*Store){
		"claim": func(s *Store) { s.UpdateNodeClaim(claim("a", "test://1")) },
		"node":  func(s *Store) { s.UpdateNode(node("n", "test://1")) },
		"pod":   func(s *Store) { s.UpdatePod(pod) },
	}
	for _, order := range [][]string{
		{"claim", "node", "pod"},
		{"claim", "pod", "node"},
		{"node", "claim", "pod"},
		{"node", "pod", "claim"},
		{"pod", "claim", "node"},
		{"pod", "node", "claim"},
	} {
		s := newStore()
		for _, step := range order {
			steps[step](s)
			s.Snapshot() // publishing in between must not freeze anything
		}
		n, ok := s.Snapshot().Nodes.Get("test://1")
		if !ok || !n.Managed || n.NodeName != "n" || n.Used.At(coreresource.CPU) != 1000 || len(n.Pods) != 1 {
			t.Errorf("%v: got %+v", order, n)
		}
	}
}

func TestPodsLeaveWhatTheyUsed(t *testing.T) {
	t.Attr("covers", "L372 L373")
	for name, leave := range map[string]func(*Store, *corev1.Pod){
		"deleted": func(s *Store, p *corev1.Pod) { s.DeletePod(string(p.UID)) },
		"finished": func(s *Store, p *corev1.Pod) {
			done := p.DeepCopy()
			done.Status.Phase = corev1.PodSucceeded
			s.UpdatePod(done)
		},
		"bound elsewhere": func(s *Store, p *corev1.Pod) {
			moved := p.DeepCopy()
			moved.Spec.NodeName = "other"
			s.UpdatePod(moved)
		},
	} {
		s := newStore()
		s.UpdateNode(node("n", ""))
		p := boundPod("p", "n")
		s.UpdatePod(p)
		if n, _ := s.Snapshot().Nodes.Get("node/n"); n.Used.At(coreresource.CPU) != 1000 {
			t.Fatalf("%s: the pod does not count to begin with", name)
		}
		leave(s, p)
		if n, _ := s.Snapshot().Nodes.Get("node/n"); n.Used.At(coreresource.CPU) != 0 || len(n.Pods) != 0 {
			t.Errorf("%s: the pod still counts: %+v", name, n)
		}
	}
}

func TestANodeThatGetsItsProviderIDIsNotCountedTwice(t *testing.T) {
	t.Attr("covers", "L379")
	s := newStore()
	s.UpdateNode(node("n", ""))
	s.UpdateNode(node("n", "test://1"))
	if nodes := s.Snapshot().Nodes; nodes.Len() != 1 {
		t.Errorf("%d nodes, want 1", nodes.Len())
	}
}

func TestSnapshotsDoNotChange(t *testing.T) {
	s := newStore()
	s.UpdateNode(node("n", ""))
	before := s.Snapshot()
	s.UpdatePod(boundPod("p", "n"))
	s.UpdateNode(node("m", ""))
	s.DeleteNode("n")
	if n, ok := before.Nodes.Get("node/n"); !ok || len(n.Pods) != 0 || before.Nodes.Len() != 1 {
		t.Errorf("the earlier snapshot changed: %+v", n)
	}
}

func TestClaimsOfOthersAreIgnored(t *testing.T) {
	s := newStore()
	foreign := claim("a", "test://1")
	foreign.Spec.NodeClassRef.Kind = "Other"
	s.UpdateNodeClaim(foreign)
	if n := s.Snapshot().Nodes.Len(); n != 0 {
		t.Errorf("%d nodes, want none", n)
	}
}

func TestAnUnseenClaimIsDoubtedUntilTheWatchShowsIt(t *testing.T) {
	t.Attr("covers", "L385")
	s, start := newStore(), time.Now()
	s.Created(claim("a", ""), start)
	if got := s.Unconfirmed(start); len(got) != 0 {
		t.Errorf("doubted at once: %v", got)
	}
	if got := s.Unconfirmed(start.Add(time.Second)); len(got) != 1 {
		t.Errorf("not doubted: %v", got)
	}
	s.UpdateNodeClaim(claim("a", ""))
	if got := s.Unconfirmed(start.Add(time.Second)); len(got) != 0 {
		t.Errorf("doubted although seen: %v", got)
	}
}

// BenchmarkSnapshot measures one snapshot after one change in a large cluster.
func BenchmarkSnapshot(b *testing.B) {
	const nodes, podsPerNode = 5000, 30
	s := newStore()
	for i := range nodes {
		name := fmt.Sprintf("node-%d", i)
		s.UpdateNode(node(name, "test://"+name))
		for j := range podsPerNode {
			s.UpdatePod(boundPod(fmt.Sprintf("pod-%d-%d", i, j), name))
		}
	}
	s.Snapshot()
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		s.UpdatePod(boundPod(fmt.Sprintf("pod-%d-0", i%nodes), fmt.Sprintf("node-%d", i%nodes)))
		s.Snapshot()
	}
}
