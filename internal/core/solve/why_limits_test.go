package solve

import (
	"strings"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/device"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
	"github.com/karpenter-anew/karpenter/internal/core/unschedulable"
)

// TestLimitsHideNoOtherReason checks that the reason against a pod at a pool without capacity left is the one that remains without limits,
// and that a limit is named as sufficient only if the pod gets a node with it.
func TestLimitsHideNoOtherReason(t *testing.T) {
	with := func(change func(*model.Shape)) *model.Shape {
		s := shape(1_000, gi)
		change(s)
		return s
	}
	in := func(key string, values ...string) requirement.Set {
		return requirement.NewSet(requirement.New(key, requirement.In, values...))
	}
	for name, c := range map[string]struct {
		pod    *model.Shape
		change func(in *Problem)
		code   unschedulable.Code
		detail string
	}{
		"nothing else": {pod: shape(1_000, gi), code: unschedulable.LimitsExceeded, detail: "a limit of 8 would be sufficient"},
		"zone that does not exist": {
			pod:  with(func(s *model.Shape) { s.Selector = in(zoneKey, "zone-z") }),
			code: unschedulable.NoInstanceType, detail: "known values: zone-a, zone-b, zone-c; all available instance types exceed limits as well (cpu: limit 4,",
		},
		"instance type that does not exist": {
			pod:  with(func(s *model.Shape) { s.Selector = in(instanceTypeKey, "tiny") }),
			code: unschedulable.NoInstanceType, detail: "known values: large, small",
		},
		"too large": {pod: shape(50_000, gi), code: unschedulable.NoInstanceType, detail: "cpu: 50 requested"},
		"zone of the volumes": {
			pod:  with(func(s *model.Shape) { s.VolumeTopology = []requirement.Set{in(zoneKey, "zone-z")} }),
			code: unschedulable.NoInstanceType, detail: "as well",
		},
		"zone of the volumes that the pool has": {
			pod:  with(func(s *model.Shape) { s.VolumeTopology = []requirement.Set{in(zoneKey, "zone-b")} }),
			code: unschedulable.LimitsExceeded, detail: "a limit of 8 would be sufficient",
		},
		"affinity to pods of another node": {
			pod:    with(func(s *model.Shape) { s.Affinities = []topology.Affinity{near(hostnameKey, "db")} }),
			change: func(in *Problem) { in.Nodes[0].Pods = labelled(in.Nodes[0].Pods, "db") },
			code:   unschedulable.TopologyUnsatisfiable, detail: "as well",
		},
		"affinity to pods in the zone": {
			pod:    with(func(s *model.Shape) { s.Affinities = []topology.Affinity{near(zoneKey, "db")} }),
			change: func(in *Problem) { in.Nodes[0].Pods = labelled(in.Nodes[0].Pods, "db") },
			code:   unschedulable.LimitsExceeded, detail: "a limit of 8 would be sufficient",
		},
		"affinity to pods that do not exist": {
			pod:  with(func(s *model.Shape) { s.Affinities = []topology.Affinity{near(zoneKey, "db")} }),
			code: unschedulable.TopologyUnsatisfiable, detail: "no pod matches the affinity, neither on a node nor pending; all",
		},
		"affinity to pods that the limits keep out": {
			pod:    with(func(s *model.Shape) { s.Affinities = []topology.Affinity{near(zoneKey, "db")} }),
			change: func(in *Problem) { in.Pods = append(in.Pods, labelled(pods(1, shape(2_000, gi)), "db")...) },
			code:   unschedulable.LimitsExceeded, detail: "cpu: limit 4, used or planned 4",
		},
		"minValues": {
			pod: shape(1_000, gi), code: unschedulable.MinValuesUnmet, detail: "3 values required, 2 available",
			change: func(in *Problem) {
				in.Pools[0].Requirements = in.Pools[0].Requirements.And(requirement.NewSet(
					requirement.New(instanceTypeKey, requirement.Exists).WithMinValues(3)))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			build := func(cores int64) Problem {
				p := problem(pods(1, c.pod), pool("default", instanceType("small", 4, 16, 0.10), instanceType("large", 32, 128, 1)))
				full := existing("full")
				full.Pool, full.Managed, full.Pods, full.Used = "default", true, pods(1, shape(4_000, gi)), full.Allocatable
				p.Nodes = []*model.Node{full}
				if c.change != nil {
					c.change(&p)
				}
				limited(p.Pools[0], map[int]int64{resource.CPU: cores})
				return p
			}
			why := reasonOf(t, Solve(build(4_000)), c.pod)
			if detail := why.Detail(); why.Code != c.code || !strings.Contains(detail, c.detail) {
				t.Errorf("%s: %q, want %s: %q", why.Code, detail, c.code, c.detail)
			}
			sufficient := strings.Contains(why.Detail(), "sufficient")
			if plan := Solve(build(8_000)); sufficient && len(plan.Unschedulable) > 0 {
				t.Errorf("the sufficient limit is not: %s", plan.Unschedulable[0].Reasons)
			}
			if !why.OverLimits() {
				if got := reasonOf(t, Solve(build(1_000_000)), c.pod); got.Code != c.code {
					t.Errorf("without limits the reason is %s", got)
				}
			}
		})
	}
}

// reasonOf is the reason against the pods of a shape.
func reasonOf(t *testing.T, plan Plan, s *model.Shape) unschedulable.Reason {
	t.Helper()
	for _, u := range plan.Unschedulable {
		if u.Pods[0].Shape == s {
			return u.Reasons[0]
		}
	}
	t.Fatalf("the pod is not refused: %+v", plan.NodeClaims)
	return unschedulable.Reason{}
}

// TestNoLimitIsNamedForDevicesThatAreMissing: with any limit, no instance type would have the device.
func TestNoLimitIsNamedForDevicesThatAreMissing(t *testing.T) {
	for driver, want := range map[string]string{gpuDriver: "a limit of 1 would be sufficient", "nic.example.com": "as well"} {
		in := problem([]*model.Pod{user("a", "c")}, limited(pool("default", brings(instanceType("small", 4, 16, 1), gpuDriver, 1)), map[int]int64{resource.Nodes: 0}))
		in.Devices = known([]*device.Slice{}, wants("c", driver))
		plan := Solve(in)
		if len(plan.Unschedulable) != 1 || !strings.Contains(plan.Unschedulable[0].Reasons[0].Detail(), want) {
			t.Errorf("%s: %v, want %q", driver, plan.Unschedulable, want)
		}
	}
}
