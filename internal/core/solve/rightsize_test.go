package solve

import (
	"fmt"
	"slices"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

func TestAnOpenNodeTooLargeForTheSmallestNodesIsStillSplit(t *testing.T) {
	p := pool("default",
		instanceType("nano", 2, 2, 0.001), instanceType("medium", 16, 64, 0.20), instanceType("giant", 896, 12288, 130))
	plan := Solve(problem(pods(600, shape(1000, gi/8)), p))
	for _, c := range plan.NodeClaims {
		if c.Price > 1 {
			t.Errorf("a claim of %d pods costs $%.2f/h: it should have been split", len(c.Pods), c.Price)
		}
	}
	if len(plan.Unschedulable) != 0 {
		t.Errorf("unschedulable: %v", plan.Unschedulable[0].Reasons)
	}
}

// TestLargePodsGoWhereTheyFillTheNode: per core the small nodes are the cheapest, and nearly half of each would be wasted.
func TestLargePodsGoWhereTheyFillTheNode(t *testing.T) {
	var types []*catalog.InstanceType
	for cores := range int64(8) {
		types = append(types, instanceType(fmt.Sprintf("small-%d", cores), 8+cores%4, 32, 0.300+0.001*float64(cores)))
	}
	types = append(types, instanceType("middle", 32, 128, 1.224), instanceType("large", 128, 512, 4.896), instanceType("larger", 192, 768, 7.344))
	for _, n := range []int{7, 29, 37, 60, 250} {
		plan := Solve(problem(pods(n, shape(6000, gi)), pool("default", types...)))
		// Five pods fill a middle node.
		if most := 1.224 * float64((n+4)/5); plan.Price() > most+1e-9 {
			t.Errorf("%d pods cost $%.4f/h on %d nodes, want $%.4f/h at most", n, plan.Price(), len(plan.NodeClaims), most)
		}
	}
}

func TestSplittingNeverCostsMoreAndLosesNoPod(t *testing.T) {
	in := mixedProblem(3000, 200, 60)
	whole := in
	whole.Options.DisableRepacking = true
	before := Solve(whole)
	after := Solve(in)
	if after.Price() > before.Price()+1e-9 {
		t.Errorf("$%.4f/h after splitting, $%.4f/h before", after.Price(), before.Price())
	}
	placed := map[string]int{}
	for _, c := range after.NodeClaims {
		for _, p := range c.Pods {
			placed[p.UID]++
		}
	}
	if len(placed) != 3000 {
		t.Errorf("%d pods placed, want 3000", len(placed))
	}
	for uid, n := range placed {
		if n != 1 {
			t.Errorf("pod %s is placed %d times", uid, n)
		}
	}
}

func TestFlexiblePodsDoNotShareTheNodeOfAConstrainedPod(t *testing.T) {
	expensive, cheap := instanceType("expensive", 32, 128, 4.00), instanceType("cheap", 32, 128, 1.00)
	database := shape(2000, 8*gi)
	database.Selector = requirement.NewSet(requirement.New(instanceTypeKey, requirement.In, "expensive", "expensive-small"))
	in := problem(append(pods(1, database), pods(20, shape(1000, gi))...),
		pool("default", expensive, instanceType("expensive-small", 4, 16, 0.50), cheap))
	if got := Solve(in).Price(); got > 1.501 {
		t.Errorf("$%.2f/h, want $1.50/h: a small expensive node for the one that needs it, a cheap one for the rest", got)
	}
}

func TestWideningStaysOffTypesWhoseDaemonsTakeThePort(t *testing.T) {
	small, large := instanceType("small", 4, 16, 0.10), instanceType("large", 64, 256, 9.00)
	exporter := listening(tcp(9100))
	exporter.Selector = requirement.NewSet(requirement.New(instanceTypeKey, requirement.In, "large"))
	in := problem(append(pods(1, listening(tcp(9100))), pods(12, shape(1000, gi))...), pool("default", small, large, instanceType("big", 64, 256, 8.00)))
	in.DaemonSets = []*model.DaemonSet{{Namespace: "kube-system", Name: "exporter", Shape: exporter}}
	for _, c := range Solve(in).NodeClaims {
		wants := slices.ContainsFunc(c.Pods, func(p *model.Pod) bool { return len(p.Shape.HostPorts) > 0 })
		if wants && slices.Contains(c.InstanceTypes, "large") {
			t.Errorf("candidates %v: on large the daemon takes the port", c.InstanceTypes)
		}
	}
}

func TestLimitsLeaveASplitItsAlternatives(t *testing.T) {
	p := pool("default", instanceType("small", 4, 16, 0.10), instanceType("medium", 8, 32, 0.30), instanceType("large", 16, 64, 1.00))
	p.Limits = map[int]int64{resource.CPU: 1_000_000}
	plan := Solve(problem(pods(15, shape(1000, gi)), p))
	for _, c := range plan.NodeClaims {
		if len(c.InstanceTypes) != 3 {
			t.Errorf("candidates %v, want all three: the limit is far away", c.InstanceTypes)
		}
	}
}
