package problem

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
)

var (
	atNow         = time.Unix(1_800_000_000, 0)
	unreadyTaints = []model.Taint{{Key: corev1.TaintNodeNotReady, Effect: model.NoSchedule}}
)

func TestAPodWithALaunchingNodeIsNotPlannedAgain(t *testing.T) {
	one := &model.Shape{Requests: resource.Vector{1000}}
	served, waiting := &model.Pod{UID: "served", Shape: one}, &model.Pod{UID: "waiting", Shape: one}
	node := &model.Node{ID: "nodeclaim/a", ClaimName: "a", Allocatable: resource.Vector{2000}}
	ps := Nominations{}
	ps.Note([]solve.Placement{{Node: node, Pods: []*model.Pod{served}}})

	open, reserved := ps.Reserve([]*model.Pod{served, waiting}, []*model.Node{node}, time.Time{}, 0)
	if len(open) != 1 || open[0] != waiting {
		t.Errorf("to plan: %v, want only the pod without a node", open)
	}
	if reserved[0].Used.At(resource.CPU) != 1000 || node.Used.At(resource.CPU) != 0 {
		t.Errorf("used %v (snapshot %v), want the nomination to count in the copy only", reserved[0].Used, node.Used)
	}
}

func TestNominationsEndWithTheirNode(t *testing.T) {
	pod := &model.Pod{UID: "p", Shape: &model.Shape{Requests: resource.Vector{1000}}}
	for name, nodes := range map[string][]*model.Node{
		"the claim is gone":       nil,
		"the node is initialized": {{ID: "x", ClaimName: "a", Initialized: true, Disruption: model.Disruption{LastPodEvent: atNow.UnixNano()}}},
		"the node has been closed for long": {{
			ID: "x", ClaimName: "a", Initialized: true, Taints: unreadyTaints, Disruption: model.Disruption{LastPodEvent: atNow.Add(-20 * time.Second).UnixNano()},
		}},
	} {
		ps := Nominations{"p": "a"}
		if open, _ := ps.Reserve([]*model.Pod{pod}, nodes, atNow, 20*time.Second); len(open) != 1 || len(ps) != 0 {
			t.Errorf("%s: %d pods to plan and %d nominations left, want 1 and 0", name, len(open), len(ps))
		}
	}
}

func TestAPodWaitsForANodeThatIsTaintedRightAfterItsStart(t *testing.T) {
	pod := &model.Pod{UID: "p", Shape: &model.Shape{Requests: resource.Vector{1000}}}
	for name, last := range map[string]int64{
		"within the window":                       atNow.Add(-19 * time.Second).UnixNano(),
		"when it was initialized is not said yet": 0,
	} {
		node := &model.Node{ID: "x", ClaimName: "a", Initialized: true, Taints: unreadyTaints}
		node.Disruption.LastPodEvent = last
		ps := Nominations{"p": "a"}
		if open, reserved := ps.Reserve([]*model.Pod{pod}, []*model.Node{node}, atNow, 20*time.Second); len(open) != 0 || len(reserved[0].Pods) != 1 {
			t.Errorf("%s: %d pods to plan, %d pods expected on the node, want 0 and 1", name, len(open), len(reserved[0].Pods))
		}
	}
}

// TestAReplicaThatTakesThePlaceOfANominatedPod: kube-scheduler binds another replica to the node of a pod, which is then planned again
// and does not count on the node beside the replica. The nomination of a pod that runs where it was expected costs no other pod its own.
func TestAReplicaThatTakesThePlaceOfANominatedPod(t *testing.T) {
	one := &model.Shape{Requests: resource.Vector{1000}}
	pod := func(uid string) *model.Pod { return &model.Pod{UID: uid, Shape: one} }
	for name, c := range map[string]struct {
		bound    *model.Pod
		cpu      int64
		planned  int
		expected int
	}{
		"another replica, on a node with capacity for more": {pod("stranger"), 8000, 1, 2},
		"another replica, on a node that is full":           {pod("stranger"), 2000, 1, 2},
		"one of the nominated pods":                         {pod("served"), 3000, 0, 3},
		"a larger pod":                                      {&model.Pod{UID: "large", Shape: &model.Shape{Requests: resource.Vector{2000}}}, 3000, 1, 2},
		"a small pod beside them":                           {&model.Pod{UID: "small", Shape: &model.Shape{Requests: resource.Vector{1000}}}, 3000, 0, 3},
		"a pod of a DaemonSet":                              {&model.Pod{UID: "daemon", Shape: one, Daemon: true}, 3000, 0, 3},
	} {
		t.Run(name, func(t *testing.T) {
			ps := Nominations{"served": "a", "first": "a", "second": "a"}
			node := &model.Node{ID: "x", ClaimName: "a", NodeName: "x", Allocatable: resource.Vector{c.cpu}, Pods: []*model.Pod{c.bound}, Used: c.bound.Shape.Requests}
			for pass := range 2 {
				open, reserved := ps.Reserve([]*model.Pod{pod("first"), pod("second")}, []*model.Node{node}, atNow, 0)
				if len(open) != c.planned || len(reserved[0].Pods) != c.expected {
					t.Errorf("pass %d: %d pods to plan, %d pods on the node, want %d and %d", pass, len(open), len(reserved[0].Pods), c.planned, c.expected)
				}
			}
		})
	}
}
