package solve

import (
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
	"github.com/karpenter-anew/karpenter/internal/core/unschedulable"
)

// TestPodsThatAlternateBetweenZonesAreAllPlaced: the large pods are tried first and may only run in one zone, where the spread
// lets no more than one run at a time before a small one has followed in the other zone.
func TestPodsThatAlternateBetweenZonesAreAllPlaced(t *testing.T) {
	t.Attr("covers", "L126")
	in := func(zone string, milliCPU int64) *model.Shape {
		s := shape(milliCPU, gi/4)
		s.Selector = requirement.NewSet(requirement.New(zoneKey, requirement.In, zone))
		spread := spreadOver(zoneKey, 1, "web")
		spread.AnyAffinity = true // both zones count for both
		s.Spreads = []topology.Spread{spread}
		return s
	}
	p := pool("default", instanceType("m", 16, 64, 1))
	p.Requirements = p.Requirements.And(requirement.NewSet(requirement.New(zoneKey, requirement.In, "zone-a", "zone-b")))
	all := labelled(append(pods(4, in("zone-a", 1000)), pods(4, in("zone-b", 100))...), "web")
	plan := Solve(problem(all, p))
	if got, want := byZone(plan), "[[zone-a]=4 [zone-b]=4] refused=0"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestALimitForOneOfTwoPodsWithAntiAffinityServesOne(t *testing.T) {
	t.Attr("covers", "L203")
	apart := shape(1000, gi)
	apart.Affinities = []topology.Affinity{far(hostnameKey, "web")}
	p := pool("default", instanceType("m", 4, 16, 0.1))
	p.Limits = map[int]int64{resource.CPU: 4000}
	plan := Solve(problem(labelled(pods(2, apart), "web"), p))
	if len(plan.NodeClaims) != 1 || unschedulablePods(plan) != 1 || plan.Unschedulable[0].Reasons[0].Code != unschedulable.LimitsExceeded {
		t.Errorf("%d claims, unschedulable %v; want one of each, for the limit", len(plan.NodeClaims), plan.Unschedulable)
	}
}
