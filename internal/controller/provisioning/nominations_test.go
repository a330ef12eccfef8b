package provisioning

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
)

var (
	now     = time.Unix(1_800_000_000, 0)
	unready = []model.Taint{{Key: corev1.TaintNodeNotReady, Effect: model.NoSchedule}}
)

func TestAPodWithALaunchingNodeIsNotPlannedAgain(t *testing.T) {
	one := &model.Shape{Requests: resource.Vector{1000}}
	served, waiting := &model.Pod{UID: "served", Shape: one}, &model.Pod{UID: "waiting", Shape: one}
	node := &model.Node{ID: "nodeclaim/a", ClaimName: "a", Allocatable: resource.Vector{2000}}
	ps := nominations{}
	ps.note([]solve.Placement{{Node: node, Pods: []*model.Pod{served}}})

	open, reserved := ps.reserve([]*model.Pod{served, waiting}, []*model.Node{node}, time.Time{}, 0)
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
		"the node is initialized": {{ID: "x", ClaimName: "a", Initialized: true, Disruption: model.Disruption{LastPodEvent: now.UnixNano()}}},
		"the node has been closed for long": {{
			ID: "x", ClaimName: "a", Initialized: true, Taints: unready, Disruption: model.Disruption{LastPodEvent: now.Add(-20 * time.Second).UnixNano()},
		}},
	} {
		ps := nominations{"p": "a"}
		if open, _ := ps.reserve([]*model.Pod{pod}, nodes, now, 20*time.Second); len(open) != 1 || len(ps) != 0 {
			t.Errorf("%s: %d pods to plan and %d nominations left, want 1 and 0", name, len(open), len(ps))
		}
	}
}

func TestAPodWaitsForANodeThatIsTaintedRightAfterItsStart(t *testing.T) {
	pod := &model.Pod{UID: "p", Shape: &model.Shape{Requests: resource.Vector{1000}}}
	node := &model.Node{ID: "x", ClaimName: "a", Initialized: true, Taints: unready}
	node.Disruption.LastPodEvent = now.Add(-19 * time.Second).UnixNano()
	ps := nominations{"p": "a"}
	if open, reserved := ps.reserve([]*model.Pod{pod}, []*model.Node{node}, now, 20*time.Second); len(open) != 0 || len(reserved[0].Pods) != 1 {
		t.Errorf("%d pods to plan, %d pods expected on the node, want 0 and 1", len(open), len(reserved[0].Pods))
	}
}
