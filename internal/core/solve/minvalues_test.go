package solve

import (
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

func TestBestEffortLowersWhatCannotBeMet(t *testing.T) {
	t.Attr("covers", "L312 L313")
	p := pool("first", instanceType("m", 4, 16, 1), instanceType("n", 8, 32, 2))
	p.Weight = 10
	p.Requirements = p.Requirements.Add(requirement.New(instanceTypeKey, requirement.Exists).WithMinValues(5)).
		Add(requirement.New(zoneKey, requirement.In, "zone-a", "zone-b", "zone-c").WithMinValues(3))
	pr := problem(pods(1, shape(500, gi)), p, pool("second", instanceType("m", 4, 16, 1)))
	strict := Solve(pr)
	if len(strict.NodeClaims) != 1 || strict.NodeClaims[0].Pool != "second" || strict.NodeClaims[0].MinValuesRelaxed {
		t.Errorf("Strict: want one claim of the second pool, got %+v", strict.NodeClaims)
	}
	pr.Options.BestEffortMinValues = true
	relaxed := Solve(pr)
	if len(relaxed.NodeClaims) != 1 || relaxed.NodeClaims[0].Pool != "first" || !relaxed.NodeClaims[0].MinValuesRelaxed {
		t.Fatalf("BestEffort: want one relaxed claim of the first pool, got %+v", relaxed.NodeClaims)
	}
	reqs := relaxed.NodeClaims[0].Requirements
	if got := reqs.Get(instanceTypeKey).MinValues(); got != 2 {
		t.Errorf("minValues of the instance type is %d, want the 2 that there are", got)
	}
	if got := reqs.Get(zoneKey).MinValues(); got != 3 {
		t.Errorf("minValues of the zone is %d, want the 3 that can be met", got)
	}
}

func TestAnOpenNodeIsNotRelaxedFurther(t *testing.T) {
	t.Attr("covers", "L312")
	p := pool("default", instanceType("m", 4, 16, 1), instanceType("n", 8, 32, 2))
	p.Requirements = p.Requirements.Add(requirement.New(instanceTypeKey, requirement.Exists).WithMinValues(5))
	pr := problem(pods(7, shape(1000, gi)), p)
	pr.Options.BestEffortMinValues = true
	plan := Solve(pr)
	for _, c := range plan.NodeClaims {
		if len(c.InstanceTypes) != 2 {
			t.Errorf("a claim lists %v: lowered to 2 when it was opened, it must keep both", c.InstanceTypes)
		}
	}
	if len(plan.NodeClaims) != 3 {
		t.Errorf("%d claims, want three of at most three pods each", len(plan.NodeClaims))
	}
}
