package cluster

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	coreresource "github.com/karpenter-anew/karpenter/internal/core/resource"
)

func asks(cpu string) corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)},
	}}}}
}

func daemonSet(uid types.UID, cpu string) *appsv1.DaemonSet {
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "agent", UID: uid}}
	set.Spec.Template.Spec = asks(cpu)
	return set
}

// daemonPod returns a pod of the DaemonSet agent with this UID and this age in seconds.
func daemonPod(name string, set types.UID, cpu string, age int) *corev1.Pod {
	controller := true
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID(name),
			CreationTimestamp: metav1.NewTime(time.Date(2026, 1, 1, 0, 0, -age, 0, time.UTC)),
			OwnerReferences:   []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "agent", UID: set, Controller: &controller}},
		},
		Spec: asks(cpu),
	}
}

// TestNewestPodRepresentsItsDaemonSet checks that the requests of a DaemonSet are those of its newest pod, and that the pods of a
// deleted DaemonSet of the same name do not count, in any order of events.
func TestNewestPodRepresentsItsDaemonSet(t *testing.T) {
	t.Attr("covers", "L387")
	for _, tc := range []struct {
		name string
		feed func(*Store)
		want int64 // in thousandths of a core
	}{
		{"no pod yet", func(s *Store) { s.Daemons.Update(daemonSet("new", "1")) }, 1000},
		{"the newest of two", func(s *Store) {
			s.Daemons.Update(daemonSet("new", "1"))
			s.Daemons.Observe(daemonPod("a", "new", "2", 5))
			s.Daemons.Observe(daemonPod("b", "new", "3", 9))
		}, 2000},
		{"pods before their set", func(s *Store) {
			s.Daemons.Observe(daemonPod("a", "new", "2", 5))
			s.Daemons.Update(daemonSet("new", "1"))
		}, 2000},
		{"a former pod after its set was deleted", func(s *Store) {
			s.Daemons.Update(daemonSet("old", "4"))
			s.Daemons.Delete("default", "agent")
			s.Daemons.Observe(daemonPod("a", "old", "4", 5))
			s.Daemons.Update(daemonSet("new", "1"))
		}, 1000},
		{"a former pod beside the set's own of the same second", func(s *Store) {
			s.Daemons.Observe(daemonPod("a", "old", "4", 5))
			s.Daemons.Update(daemonSet("new", "1"))
			s.Daemons.Observe(daemonPod("b", "new", "2", 5))
		}, 2000},
		{"a set that takes the place of another at once", func(s *Store) {
			s.Daemons.Update(daemonSet("old", "4"))
			s.Daemons.Observe(daemonPod("a", "old", "5", 5))
			s.Daemons.Update(daemonSet("new", "1"))
		}, 1000},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newStore()
			tc.feed(s)
			sets := s.Snapshot().DaemonSets.Sorted()
			if len(sets) != 1 {
				t.Fatalf("there are %d DaemonSets", len(sets))
			}
			if got := sets[0].Shape.Requests.At(coreresource.CPU); got != tc.want {
				t.Errorf("it asks for %d, want %d", got, tc.want)
			}
		})
	}
}

func TestOnlyDaemonSetsThatExistAreKnown(t *testing.T) {
	t.Attr("covers", "L387")
	s := newStore()
	s.Daemons.Observe(daemonPod("a", "set", "2", 5))
	if n := s.Snapshot().DaemonSets.Len(); n != 0 {
		t.Errorf("a pod alone makes %d DaemonSets", n)
	}
	s.Daemons.Update(daemonSet("set", "1"))
	other := daemonPod("b", "set", "7", 1)
	other.OwnerReferences[0].Kind = "ReplicaSet"
	s.Daemons.Observe(other)
	if got := s.Snapshot().DaemonSets.Sorted()[0].Shape.Requests.At(coreresource.CPU); got != 2000 {
		t.Errorf("it asks for %d: a pod of something else stands for it", got)
	}
	s.Daemons.Delete("default", "agent")
	if n := s.Snapshot().DaemonSets.Len(); n != 0 {
		t.Errorf("%d DaemonSets after it was deleted", n)
	}
}

// TestPodsOfInventedDaemonSetsAreForgotten: pods may name any owner, and go again.
func TestPodsOfInventedDaemonSetsAreForgotten(t *testing.T) {
	s := newStore()
	s.Daemons.Update(daemonSet("set", "1"))
	s.Daemons.Observe(daemonPod("real", "set", "2", 5))
	for i := range 100 {
		pod := daemonPod(fmt.Sprint("pod-", i), types.UID(fmt.Sprint("set-", i)), "1", 5)
		pod.OwnerReferences[0].Name = fmt.Sprint("invented-", i)
		s.Daemons.Observe(pod)
		newer := pod.DeepCopy()
		newer.UID, newer.CreationTimestamp = pod.UID+"-newer", metav1.NewTime(pod.CreationTimestamp.Add(time.Second))
		s.Daemons.Observe(newer)
		s.DeletePod(string(pod.UID))
		s.DeletePod(string(newer.UID))
	}
	s.DeletePod("real")
	if known, newest := len(s.Daemons.daemons), len(s.Daemons.newest); known != 1 || newest != 0 {
		t.Errorf("%d DaemonSets and %d pods are remembered, want the one that exists", known, newest)
	}
	if got := s.Snapshot().DaemonSets.Sorted()[0].Shape.Requests.At(coreresource.CPU); got != 2000 {
		t.Errorf("the DaemonSet asks for %d, want what its last pod did", got)
	}
}

// TestADaemonSetWithABrokenSelectorIsStillCounted: the owner references of pods decide, not the selector.
func TestADaemonSetWithABrokenSelectorIsStillCounted(t *testing.T) {
	t.Attr("covers", "L164")
	s := newStore()
	broken := daemonSet("set", "1")
	broken.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Near"}}}
	s.Daemons.Update(broken)
	fine := daemonSet("fine", "3")
	fine.Name = "fine"
	s.Daemons.Update(fine)
	s.Daemons.Observe(daemonPod("a", "set", "2", 5))
	sets := s.Snapshot().DaemonSets.Sorted()
	if len(sets) != 2 || sets[0].Shape.Requests.At(coreresource.CPU) != 2000 || sets[1].Shape.Requests.At(coreresource.CPU) != 3000 {
		t.Errorf("DaemonSets %+v, want both, one as its pod says", sets)
	}
}
