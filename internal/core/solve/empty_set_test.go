package solve

import (
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

func TestBoundsAndExclusionsThatLeaveNothingDoNotAgree(t *testing.T) {
	s := shape(100, gi)
	s.Selector = requirement.NewSet(requirement.New("gen", requirement.NotIn, "2"), requirement.New("gen", requirement.Lt, "3"))
	p := pool("default", instanceType("m", 4, 16, 1))
	p.Requirements = p.Requirements.Add(requirement.New("gen", requirement.Gt, "1"))
	if plan := Solve(problem(pods(1, s), p)); len(plan.NodeClaims) != 0 || unschedulablePods(plan) != 1 {
		t.Errorf("%d claims, want none: above 1, below 3 and not 2 there is nothing", len(plan.NodeClaims))
	}
}
