package solve

import (
	"fmt"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

// wishful is n pods of mixed sizes that wish to be apart, and every second one for one of two zones.
func wishful(n int) []*model.Pod {
	var shapes []*model.Shape
	for i, cpu := range []int64{100, 250, 500, 1000, 1500} {
		for j, zone := range []string{"zone-a", "zone-b"} {
			s := shape(cpu, gi*int64(1+(i+j)%4)/2)
			wish := far(hostnameKey, "web")
			wish.Weight = 100
			s.Affinities = []topology.Affinity{wish}
			if i%2 == 0 {
				s.Preferred = []model.Preference{{Weight: 10, Terms: requirement.NewSet(requirement.New(zoneKey, requirement.In, zone))}}
			}
			shapes = append(shapes, s)
		}
	}
	var out []*model.Pod
	for i := range n {
		out = append(out, &model.Pod{
			UID: fmt.Sprintf("p-%04d", i), Namespace: "default", Name: fmt.Sprintf("p-%04d", i), Shape: shapes[i%len(shapes)],
		})
	}
	return labelled(out, "web")
}

func TestWishesCostFewMachines(t *testing.T) {
	for _, n := range []int{20, 150, 400, 900} {
		in := problem(wishful(n), pool("default", cores(32)...))
		granted := Solve(in)
		in.Options.IgnorePreferences = true
		ignored := Solve(in)
		if refusedPods(granted) != 0 || 4*len(granted.NodeClaims) > 5*len(ignored.NodeClaims) {
			t.Errorf("%d pods: %d machines that respect wishes, want at most a quarter more than the %d that do not", n, len(granted.NodeClaims), len(ignored.NodeClaims))
		}
	}
}

func TestWishesThatCostNothingAreGranted(t *testing.T) {
	// Two machines are needed in any case.
	wish := shape(600, gi/2)
	wish.Affinities = []topology.Affinity{far(hostnameKey, "web")}
	wish.Affinities[0].Weight = 1
	list := append(labelled(named(pods(2, wish), "web"), "web"), named(pods(2, shape(1200, gi/2)), "other")...)
	for _, c := range Solve(problem(list, pool("default", cores(2)...))).NodeClaims {
		if len(c.Pods) != 2 || c.Pods[0].Shape == c.Pods[1].Shape {
			t.Errorf("a machine holds %d pods, want one of each kind", len(c.Pods))
		}
	}
}

func TestAWishThatSaysWhereTheVolumeIsIsNotGivenUp(t *testing.T) {
	here := requirement.NewSet(requirement.New(zoneKey, requirement.In, "zone-b"))
	s := shape(1000, gi)
	s.VolumeTopology = []requirement.Set{here}
	s.Preferred = []model.Preference{{Weight: 1, Terms: here}}
	// One machine in zone-a would hold both pods for less than two in zone-b, which they wish for, and have their volumes in.
	large, small := machine("large", 8, 32, 1.5), machine("small", 1, 4, 1)
	large.Offerings, small.Offerings = large.Offerings[:1], small.Offerings[1:2]
	s.Requests[resource.CPU] = 600
	plan := Solve(problem(pods(2, s), pool("default", large, small)))
	for _, c := range plan.NodeClaims {
		if zones := c.Requirements.Get(zoneKey); zones.Len() != 1 || !zones.Has("zone-b") {
			t.Errorf("%d pods in %v, their volumes are in zone-b", len(c.Pods), zones)
		}
	}
	if len(plan.NodeClaims) != 2 {
		t.Errorf("%d machines, want 2", len(plan.NodeClaims))
	}
}

func TestWishesAreNotGivenUpForAReservation(t *testing.T) {
	// The machine for both is sold in zone-a as a reservation only, next to nothing; the pods wish for zone-b.
	s := shape(600, gi/2)
	s.Preferred = []model.Preference{{Weight: 1, Terms: requirement.NewSet(requirement.New(zoneKey, requirement.In, "zone-b"))}}
	large, small := withReservation(machine("large", 8, 32, 5), "r-1", 1), machine("small", 1, 4, 1)
	small.Offerings = small.Offerings[1:2]
	plan := Solve(reservedProblem(pods(2, s), pool("default", large, small)))
	if got := held(plan); plan.Price() > 2+1e-9 || refusedPods(plan) != 0 {
		t.Errorf("%d machines for $%.3f/h that hold %v, want no more than $2 for two small ones", len(plan.NodeClaims), plan.Price(), got)
	}
}
