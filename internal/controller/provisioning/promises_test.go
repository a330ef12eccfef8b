package provisioning

import (
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
)

func TestAPodWhoseMachineIsOnItsWayIsNotPlannedAgain(t *testing.T) {
	one := &model.Shape{Requests: resource.Vector{1000}}
	served, waiting := &model.Pod{UID: "served", Shape: one}, &model.Pod{UID: "waiting", Shape: one}
	machine := &model.Node{ID: "nodeclaim/a", ClaimName: "a", Allocatable: resource.Vector{2000}}
	ps := promises{}
	ps.note([]solve.Placement{{Node: machine, Pods: []*model.Pod{served}}})

	open, reserved := ps.settle([]*model.Pod{served, waiting}, []*model.Node{machine})
	if len(open) != 1 || open[0] != waiting {
		t.Errorf("to plan: %v, want only the pod without a machine", open)
	}
	if reserved[0].Used.At(resource.CPU) != 1000 || machine.Used.At(resource.CPU) != 0 {
		t.Errorf("used %v (snapshot %v), want the promise to count in the copy only", reserved[0].Used, machine.Used)
	}
}

func TestPromisesEndWithTheirMachine(t *testing.T) {
	pod := &model.Pod{UID: "p", Shape: &model.Shape{Requests: resource.Vector{1000}}}
	for name, nodes := range map[string][]*model.Node{
		"the claim is gone":       nil,
		"the node is initialized": {{ID: "x", ClaimName: "a", Initialized: true}},
	} {
		ps := promises{"p": "a"}
		if open, _ := ps.settle([]*model.Pod{pod}, nodes); len(open) != 1 || len(ps) != 0 {
			t.Errorf("%s: %d pods to plan and %d promises left, want 1 and 0", name, len(open), len(ps))
		}
	}
}
