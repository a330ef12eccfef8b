package solve

import (
	"strings"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/unschedulable"
)

// cappedPool is a pool whose instance types cost 0.10 and 0.50 at most, with a cap on its cost of which used is used.
func cappedPool(names *resource.Table, limit, used int64) *model.Pool {
	p := pool("default", instanceType("small", 4, 16, 0.10), instanceType("large", 16, 64, 0.50))
	at := names.Index(resource.CostOfPool)
	for i, most := range []int64{100_000, 500_000} {
		p.Catalog[i].Capacity = p.Catalog[i].Capacity.Clone().Set(at, most)
	}
	p.Limits, p.Used = map[int]int64{at: limit}, map[int]int64{at: used}
	return p
}

func TestACostCapIsALimit(t *testing.T) {
	names := resource.NewTable()
	in := problem(pods(5, shape(3000, gi)), cappedPool(names, 1_000_000, 750_000))
	in.Resources = names.Names()
	plan := Solve(in)
	if len(plan.NodeClaims) != 2 {
		t.Fatalf("%d claims, want two for 0.10 within the 0.25 that are left", len(plan.NodeClaims))
	}
	reason := plan.Unschedulable[0].Reasons[0]
	want := "all available instance types exceed a cost cap for nodepool (NodePool=default) (ops.karpenter.sh/nodepool-cost: limit $1.00/h, used or planned $0.95/h, a limit of $1.05/h would be sufficient)"
	if reason.Code != unschedulable.CostCapExceeded || !strings.HasPrefix(reason.String(), want) {
		t.Errorf("unschedulable for %s: %q, want %q", reason.Code, reason, want)
	}
	if reason.Remedy() == "" {
		t.Error("no remedy")
	}
}

// TestACapLeavesCheaperTypes: a pod that is too large for these is told about the cap.
func TestACapLeavesCheaperTypes(t *testing.T) {
	names := resource.NewTable()
	in := problem(pods(1, shape(12_000, gi)), cappedPool(names, 200_000, 0))
	in.Resources = names.Names()
	reason := Solve(in).Unschedulable[0].Reasons[0]
	if reason.Code != unschedulable.CostCapExceeded || !reason.Narrowed || !strings.Contains(reason.String(), "a limit of $0.50/h would be sufficient") {
		t.Errorf("unschedulable for %s: %q", reason.Code, reason)
	}
}

// TestOtherLimitsAreNotCaps: where a limit is exceeded as well, the reason is that of limits, with both.
func TestOtherLimitsAreNotCaps(t *testing.T) {
	names := resource.NewTable()
	p := cappedPool(names, 50_000, 0)
	p.Limits[resource.CPU] = 1000
	in := problem(pods(1, shape(3000, gi)), p)
	in.Resources = names.Names()
	reason := Solve(in).Unschedulable[0].Reasons[0]
	if reason.Code != unschedulable.LimitsExceeded || len(reason.Limits) != 2 {
		t.Errorf("unschedulable for %s: %q", reason.Code, reason)
	}
}
