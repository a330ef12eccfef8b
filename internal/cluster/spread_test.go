package cluster

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

// spreadingStore spreads pods over zones by default.
func spreadingStore() *Store {
	s := newStore()
	s.DefaultSpread.Set([]corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule}})
	return s
}

// owned returns a pending pod, labelled app=web, of the controller with this UID if there is one.
func owned(namespace, name string, owner types.UID, edits ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + "/" + name), Labels: map[string]string{"app": "web", "rev": "1"}},
		Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}},
	}
	if is := true; owner != "" {
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: owner, Controller: &is}}
	}
	for _, edit := range edits {
		edit(pod)
	}
	return pod
}

func service(namespace, name string, selector map[string]string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: corev1.ServiceSpec{Selector: selector}}
}

func replicaSet(namespace string, uid types.UID, selects map[string]string) *appsv1.ReplicaSet {
	rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: string(uid), UID: uid}}
	rs.Spec.Selector = &metav1.LabelSelector{MatchLabels: selects}
	return rs
}

func (s *Store) applyReplicaSet(rs *appsv1.ReplicaSet) {
	s.DefaultSpread.UpdateOwner(rs, translate.Owner{Selector: rs.Spec.Selector})
}

// spreadBy returns the label sets that a pod of the snapshot is spread with; "-" is a pod that is not spread.
func spreadBy(t *testing.T, s *Store, pod *corev1.Pod) string {
	t.Helper()
	p, ok := s.Snapshot().Pending.Get(string(pod.UID))
	if pod.Spec.NodeName != "" {
		p, ok = s.podsOn[pod.Spec.NodeName][string(pod.UID)]
	}
	if !ok {
		t.Fatalf("pod %s is not in the snapshot", pod.Name)
	}
	return spreadsOf(p)
}

func spreadsOf(p *model.Pod) string {
	if len(p.Shape.Spreads) == 0 {
		return "-"
	}
	out := ""
	for _, labels := range []map[string]string{{"app": "web"}, {"rev": "1"}, {"app": "web", "rev": "1"}} {
		if p.Shape.Spreads[0].Selector.Matches(labels) {
			out += fmt.Sprint(labels)
		}
	}
	return out
}

const (
	byNothing = "-"
	byApp     = "map[app:web]map[app:web rev:1]"
	byRev     = "map[rev:1]map[app:web rev:1]"
	byBoth    = "map[app:web rev:1]"
)

// TestDefaultSpreadFollowsServicesAndOwners changes Services and owners of existing pods.
func TestDefaultSpreadFollowsServicesAndOwners(t *testing.T) {
	t.Attr("covers", "L254 L255")
	web, rev := map[string]string{"app": "web"}, map[string]string{"rev": "1"}
	type step struct {
		name string
		do   func(*Store)
		want string
	}
	for name, steps := range map[string][]step{
		"Services come, change and go": {
			{"none", func(*Store) {}, byNothing},
			{"one comes", func(s *Store) { s.DefaultSpread.UpdateService(service("default", "a", web)) }, byApp},
			{"another comes", func(s *Store) { s.DefaultSpread.UpdateService(service("default", "b", rev)) }, byBoth},
			{"the first means nothing now", func(s *Store) { s.DefaultSpread.UpdateService(service("default", "a", nil)) }, byRev},
			{"one of another namespace comes", func(s *Store) { s.DefaultSpread.UpdateService(service("other", "a", web)) }, byRev},
			{"the second goes", func(s *Store) { s.DefaultSpread.DeleteService("default", "b") }, byNothing},
		},
		"owners come, change and go": {
			{"not there", func(*Store) {}, byNothing},
			{"there", func(s *Store) { s.applyReplicaSet(replicaSet("default", "owner", web)) }, byApp},
			{"changed", func(s *Store) { s.applyReplicaSet(replicaSet("default", "owner", rev)) }, byRev},
			{"another of its kind", func(s *Store) { s.applyReplicaSet(replicaSet("default", "stranger", web)) }, byRev},
			{"gone", func(s *Store) { s.DefaultSpread.DeleteOwner(replicaSet("default", "owner", nil)) }, byNothing},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, pod := spreadingStore(), owned("default", "pod", "owner")
			s.UpdatePod(pod)
			for _, step := range steps {
				step.do(s)
				if got := spreadBy(t, s, pod); got != step.want {
					t.Errorf("%s: spread by %s, want %s", step.name, got, step.want)
				}
				if fresh := spreadsOf(s.Translate(pod)); fresh != step.want {
					t.Errorf("%s: translated now it is spread by %s, want %s", step.name, fresh, step.want)
				}
			}
			before := s.Snapshot()
			s.DefaultSpread.UpdateService(service("other", "a", web))
			s.applyReplicaSet(replicaSet("other", "unrelated", web))
			if s.Snapshot() != before {
				t.Error("news that concern no pod make another snapshot")
			}
		})
	}
}

func TestDefaultSpreadIsDeducedApart(t *testing.T) {
	t.Attr("covers", "L258")
	s := spreadingStore()
	web := map[string]string{"app": "web"}
	s.DefaultSpread.UpdateService(service("default", "a", web))
	s.applyReplicaSet(replicaSet("default", "owner", map[string]string{"rev": "1"}))
	relabelled := func(pod *corev1.Pod) { pod.Labels["app"] = "api" }
	for _, c := range []struct {
		name string
		pod  *corev1.Pod
		want string
	}{
		{"by the Service", owned("default", "plain", ""), byApp},
		{"by the Service and the owner", owned("default", "owned", "owner"), byBoth},
		{"with other labels", owned("default", "relabelled", "owner", relabelled), byRev},
		{"in another namespace", owned("other", "plain", ""), byNothing},
	} {
		s.UpdatePod(c.pod)
		if got := spreadBy(t, s, c.pod); got != c.want {
			t.Errorf("%s: spread by %s, want %s", c.name, got, c.want)
		}
	}
}

func TestWhoIsNotSpreadByDefault(t *testing.T) {
	t.Attr("covers", "L248 L250 L254")
	web := map[string]string{"app": "web"}
	for _, c := range []struct {
		name  string
		store *Store
		pod   *corev1.Pod
		want  string
	}{
		{"a pod with a constraint in its spec", spreadingStore(), owned("default", "own", "owner", func(pod *corev1.Pod) {
			pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 9, TopologyKey: "rack", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"rev": "1"}}}}
		}), byRev},
		{"any pod without a configuration", newStore(), owned("default", "plain", "owner"), byNothing},
		{"a pod whose owner does not control it", spreadingStore(), owned("default", "lent", "owner", func(pod *corev1.Pod) {
			pod.OwnerReferences[0].Controller = nil
		}), byNothing},
		{"a pod of a DaemonSet", spreadingStore(), owned("default", "daemon", "owner", func(pod *corev1.Pod) {
			pod.OwnerReferences[0].Kind = "DaemonSet"
			pod.Spec.NodeName = "node-1"
		}), byNothing},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.store.applyReplicaSet(replicaSet("default", "owner", web))
			before := c.pod.DeepCopy()
			c.store.UpdatePod(c.pod)
			if got := spreadBy(t, c.store, c.pod); got != c.want {
				t.Errorf("spread by %s, want %s", got, c.want)
			}
			if len(before.Spec.TopologySpreadConstraints) != len(c.pod.Spec.TopologySpreadConstraints) {
				t.Error("the pod was changed")
			}
		})
	}
}

// TestPodsOnNodesAreSpreadAnewToo checks bound pods, which may have to be rescheduled with the current constraints.
func TestPodsOnNodesAreSpreadAnewToo(t *testing.T) {
	s := spreadingStore()
	s.UpdateNode(node("node-1", ""))
	s.UpdatePod(owned("default", "pod", "", func(pod *corev1.Pod) { pod.Spec.NodeName = "node-1" }))
	s.Snapshot()
	s.DefaultSpread.UpdateService(service("default", "a", map[string]string{"app": "web"}))
	n, ok := s.Snapshot().Nodes.Get("node/node-1")
	if !ok || len(n.Pods) != 1 || spreadsOf(n.Pods[0]) != byApp {
		t.Errorf("the node has %+v", n)
	}
}

func TestPodsThatAreGoneAreNotSpread(t *testing.T) {
	s := spreadingStore()
	pod := owned("default", "pod", "")
	s.UpdatePod(pod)
	s.DeletePod(string(pod.UID))
	s.DefaultSpread.UpdateService(service("default", "a", map[string]string{"app": "web"}))
	if n := s.Snapshot().Pending.Len(); n != 0 || len(s.DefaultSpread.pods) != 0 || len(s.DefaultSpread.namespaceOf) != 0 {
		t.Errorf("%d pods wait, %d are remembered", n, len(s.DefaultSpread.namespaceOf))
	}
}
