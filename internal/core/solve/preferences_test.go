package solve

import (
	"fmt"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

// withPreference is n pods of mixed sizes with preferred anti-affinity to each other. Every second pod prefers one of two zones.
func withPreference(n int) []*model.Pod {
	var shapes []*model.Shape
	for i, cpu := range []int64{100, 250, 500, 1000, 1500} {
		for j, zone := range []string{"zone-a", "zone-b"} {
			s := shape(cpu, gi*int64(1+(i+j)%4)/2)
			preference := far(hostnameKey, "web")
			preference.Weight = 100
			s.Affinities = []topology.Affinity{preference}
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

func TestPreferencesCostFewNodes(t *testing.T) {
	for _, n := range []int{20, 150, 400, 900} {
		in := problem(withPreference(n), pool("default", cores(32)...))
		in.Options.Preferences = model.EconomicalPreferences
		granted := Solve(in)
		in.Options.Preferences = model.IgnorePreferences
		ignored := Solve(in)
		if unschedulablePods(granted) != 0 || 4*len(granted.NodeClaims) > 5*len(ignored.NodeClaims) {
			t.Errorf("%d pods: %d nodes where preferences choose, want at most a quarter more than the %d that do not", n, len(granted.NodeClaims), len(ignored.NodeClaims))
		}
	}
}

func TestRespectedPreferencesOpenNodes(t *testing.T) {
	t.Attr("covers", "L089")
	for _, n := range []int{20, 150, 400} {
		list := withPreference(n)
		plan := Solve(problem(list, pool("default", cores(32)...)))
		if unschedulablePods(plan) != 0 || len(plan.NodeClaims) != n {
			t.Errorf("%d pods that prefer to be apart: %d nodes, want one for each", n, len(plan.NodeClaims))
		}
	}
}

func TestPreferencesThatCostNothingAreMet(t *testing.T) {
	// Two nodes are needed in any case.
	preference := shape(600, gi/2)
	preference.Affinities = []topology.Affinity{far(hostnameKey, "web")}
	preference.Affinities[0].Weight = 1
	list := append(labelled(named(pods(2, preference), "web"), "web"), named(pods(2, shape(1200, gi/2)), "other")...)
	for _, c := range Solve(problem(list, pool("default", cores(2)...))).NodeClaims {
		if len(c.Pods) != 2 || c.Pods[0].Shape == c.Pods[1].Shape {
			t.Errorf("a node holds %d pods, want one of each kind", len(c.Pods))
		}
	}
}

func TestAPreferenceForTheZoneOfAVolumeIsNotRelaxed(t *testing.T) {
	here := requirement.NewSet(requirement.New(zoneKey, requirement.In, "zone-b"))
	s := shape(1000, gi)
	s.VolumeTopology = []requirement.Set{here}
	s.Preferred = []model.Preference{{Weight: 1, Terms: here}}
	// One node in zone-a would hold both pods for less than two in zone-b, which they prefer, and have their volumes in.
	large, small := instanceType("large", 8, 32, 1.5), instanceType("small", 1, 4, 1)
	large.Offerings, small.Offerings = large.Offerings[:1], small.Offerings[1:2]
	s.Requests[resource.CPU] = 600
	plan := Solve(problem(pods(2, s), pool("default", large, small)))
	for _, c := range plan.NodeClaims {
		if zones := c.Requirements.Get(zoneKey); zones.Len() != 1 || !zones.Has("zone-b") {
			t.Errorf("%d pods in %v, their volumes are in zone-b", len(c.Pods), zones)
		}
	}
	if len(plan.NodeClaims) != 2 {
		t.Errorf("%d nodes, want 2", len(plan.NodeClaims))
	}
}

func TestPreferencesAreNotRelaxedForAReservation(t *testing.T) {
	// The node for both is offered in zone-a as a reservation only, at almost no cost; the pods prefer zone-b.
	s := shape(600, gi/2)
	s.Preferred = []model.Preference{{Weight: 1, Terms: requirement.NewSet(requirement.New(zoneKey, requirement.In, "zone-b"))}}
	large, small := withReservation(instanceType("large", 8, 32, 5), "r-1", 1), instanceType("small", 1, 4, 1)
	small.Offerings = small.Offerings[1:2]
	plan := Solve(reservedProblem(pods(2, s), pool("default", large, small)))
	if got := held(plan); plan.Price() > 2+1e-9 || unschedulablePods(plan) != 0 {
		t.Errorf("%d nodes for $%.3f/h that hold %v, want no more than $2 for two small ones", len(plan.NodeClaims), plan.Price(), got)
	}
}
