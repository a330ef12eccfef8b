package solve

import (
	"math/rand/v2"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/model"
)

func TestPodsGoToTheirDestination(t *testing.T) {
	p := fleet(4, 2, false, rand.New(rand.NewPCG(1, 2))) //nolint:gosec // a test
	first, last := p.Nodes[0], p.Nodes[3]
	first.Pods = pods(2, shape(100, 128<<20))
	first.Pods[0].UID, first.Pods[1].UID = "a", "b"
	p.Cordoned = map[string]bool{last.ID: true}
	base := NewBase(p, first.Pods)
	if at := base.Solve([]*model.Node{first}, first.Pods).Placements; len(at) != 1 || at[0].Node == last {
		t.Fatalf("without destinations: %+v", at)
	}
	plan := base.SolveTo([]*model.Node{first}, first.Pods, Choices{Destinations: map[string]string{"a": last.ID, "b": NewNode}})
	if len(plan.Placements) != 1 || plan.Placements[0].Node != last || len(plan.Placements[0].Pods) != 1 || plan.Placements[0].Pods[0].UID != "a" {
		t.Errorf("the pod for an existing node has another place: %+v", plan.Placements)
	}
	if len(plan.NodeClaims) != 1 || len(plan.NodeClaims[0].Pods) != 1 || plan.NodeClaims[0].Pods[0].UID != "b" {
		t.Errorf("the pod for a new node has another place: %+v", plan.NodeClaims)
	}
	if plan = base.SolveTo([]*model.Node{first}, first.Pods, Choices{Destinations: map[string]string{"a": first.ID}}); len(plan.Unschedulable) != 1 {
		t.Errorf("a pod whose destination is gone is placed: %+v", plan.Placements)
	}
}

func TestPodsAreTriedFirst(t *testing.T) {
	p := fleet(2, 2, false, rand.New(rand.NewPCG(1, 2))) //nolint:gosec // a test
	from, to := p.Nodes[0], p.Nodes[1]
	from.Pods = []*model.Pod{{UID: "large", Shape: shape(900, 128<<20)}, {UID: "small", Shape: shape(800, 128<<20)}}
	to.Pods, to.Used = nil, to.Allocatable.Sub(shape(1000, 512<<20).Requests)
	p.Pools = nil
	base := NewBase(p, from.Pods)
	for _, first := range []string{"large", "small"} {
		plan := base.SolveTo([]*model.Node{from}, from.Pods, Choices{First: map[string]bool{first: true}})
		if len(plan.Placements) != 1 || len(plan.Placements[0].Pods) != 1 || plan.Placements[0].Pods[0].UID != first {
			t.Errorf("with %s first: %+v", first, plan.Placements)
		}
	}
}
