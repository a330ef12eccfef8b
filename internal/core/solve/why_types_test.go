package solve

import (
	"strings"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/unschedulable"
	"github.com/karpenter-anew/karpenter/internal/core/volume"
)

func limited(p *model.Pool, limits map[int]int64) *model.Pool {
	p.Limits = limits
	return p
}

// TestTheReasonIsTheOneThatNarrows checks that the reason names the constraint that excludes all instance types, and the
// sufficient value. With flip, the problem has that value and the pod is placed.
func TestTheReasonIsTheOneThatNarrows(t *testing.T) {
	types := func() []*catalog.InstanceType {
		return []*catalog.InstanceType{instanceType("small", 4, 16, 0.10), instanceType("middle", 8, 32, 0.20), instanceType("large", 32, 128, 1)}
	}
	port := model.HostPort{Protocol: "TCP", Port: 9100}
	on := func(s *model.Shape, names ...string) *model.Shape {
		s.Selector = requirement.NewSet(requirement.New(instanceTypeKey, requirement.In, names...))
		return s
	}
	with := func(s *model.Shape, ports ...model.HostPort) *model.Shape {
		s.HostPorts = ports
		return s
	}
	for _, c := range []struct {
		name   string
		pod    *model.Shape
		daemon *model.Shape
		change func(in *Problem)
		code   unschedulable.Code
		detail string
		flip   func(in *Problem)
	}{
		{
			name: "limit on cores", pod: shape(20_000, gi), code: unschedulable.LimitsExceeded,
			detail: "cpu: limit 31, used or planned 0, a limit of 32 would be sufficient",
			change: func(in *Problem) { limited(in.Pools[0], map[int]int64{resource.CPU: 31_000}) },
			flip:   func(in *Problem) { limited(in.Pools[0], map[int]int64{resource.CPU: 32_000}) },
		},
		{
			name: "limits on cores and memory", pod: shape(5_000, gi), code: unschedulable.LimitsExceeded,
			detail: "cpu: limit 7, used or planned 0, a limit of 8 would be sufficient; " +
				"memory: limit 20Gi, used or planned 0, a limit of 32Gi would be sufficient",
			change: func(in *Problem) { limited(in.Pools[0], map[int]int64{resource.CPU: 7_000, resource.Memory: 20 * gi}) },
			flip:   func(in *Problem) { limited(in.Pools[0], map[int]int64{resource.CPU: 8_000, resource.Memory: 32 * gi}) },
		},
		{
			name: "no limit would be sufficient", pod: shape(50_000, gi), code: unschedulable.NoInstanceType,
			detail: "cpu: 50 requested, at most 31900m available for pods; all available instance types exceed limits as well (cpu: limit 2, used or planned 0)",
			change: func(in *Problem) { limited(in.Pools[0], map[int]int64{resource.CPU: 2_000}) },
		},
		{
			name: "limit and too large anyway", pod: shape(50_000, gi), code: unschedulable.NoInstanceType,
			detail: "cpu: 50 requested, at most 31900m available for pods",
			change: func(in *Problem) { limited(in.Pools[0], map[int]int64{resource.CPU: 5_000}) },
		},
		{
			name: "limit and daemons", pod: shape(3_500, gi), daemon: shape(1_000, gi), code: unschedulable.LimitsExceeded,
			detail: "cpu: limit 4, used or planned 0, a limit of 8 would be sufficient",
			change: func(in *Problem) { limited(in.Pools[0], map[int]int64{resource.CPU: 4_000}) },
			flip:   func(in *Problem) { limited(in.Pools[0], map[int]int64{resource.CPU: 8_000}) },
		},
		{
			name: "limit and minValues", pod: shape(1_000, gi), code: unschedulable.MinValuesUnmet,
			detail: instanceTypeKey + ": 2 values required, 1 available; cpu: limit 4, used or planned 0, a limit of 8 would be sufficient",
			change: func(in *Problem) {
				limited(in.Pools[0], map[int]int64{resource.CPU: 4_000})
				in.Pools[0].Requirements = in.Pools[0].Requirements.And(requirement.NewSet(
					requirement.New(instanceTypeKey, requirement.Exists).WithMinValues(2)))
			},
			flip: func(in *Problem) { limited(in.Pools[0], map[int]int64{resource.CPU: 8_000}) },
		},
		{
			name: "daemons", pod: shape(31_000, gi), daemon: shape(1_000, gi), code: unschedulable.DaemonsTakeRoom,
			detail: `the pod would fit without the {"cpu":"1","memory":"1Gi","pods":"1"} that DaemonSets request`,
			flip:   func(in *Problem) { in.DaemonSets = nil },
		},
		{
			name: "ports of daemons on the types with enough capacity", pod: with(shape(20_000, gi), port),
			daemon: on(with(shape(100, gi), port), "large"), code: unschedulable.HostPortTaken,
			flip: func(in *Problem) { in.DaemonSets = nil },
		},
		{
			name: "slots for volumes", pod: shape(1_000, gi), code: unschedulable.VolumesNotAttachable,
			detail: "d: 3 volumes, at most 2 can be attached",
			change: func(in *Problem) {
				in.Pods[0].Shape.Drivers = []string{"d", "d", "d"}
				in.Pods[0].Dependencies = podWith("d", "a", "b", "c").Dependencies
				for i, it := range in.Pools[0].Catalog {
					it.Attachable = volume.Limits{"d": min(i+1, 2)}
				}
			},
			flip: func(in *Problem) { in.Pools[0].Catalog[2].Attachable = volume.Limits{"d": 3} },
		},
		{
			name: "unavailable", pod: shape(20_000, gi), code: unschedulable.OfferingUnavailable,
			detail: "unavailable offerings: on-demand in zone-a: large; on-demand in zone-b: large; on-demand in zone-c: large",
			change: func(in *Problem) { unavailable(in.Pools[0].Catalog[2], "") },
			flip:   func(in *Problem) { in.Pools[0].Catalog = types() },
		},
		{
			name: "unavailable where the pod must be", pod: shape(20_000, gi), code: unschedulable.OfferingUnavailable,
			detail: "unavailable offerings: on-demand in zone-b: large",
			change: func(in *Problem) {
				in.Pods[0].Shape.Selector = requirement.NewSet(requirement.New(zoneKey, requirement.In, "zone-b"))
				unavailable(in.Pools[0].Catalog[2], "zone-b")
			},
			flip: func(in *Problem) { in.Pods[0].Shape.Selector = nil },
		},
		{
			name: "all is unavailable", pod: shape(1_000, gi), code: unschedulable.PoolEmpty,
			detail: "unavailable offerings: on-demand in zone-a: large and others; on-demand in zone-b: large and others; on-demand in zone-c: large and others",
			change: func(in *Problem) {
				for _, it := range in.Pools[0].Catalog {
					unavailable(it, "")
				}
			},
			flip: func(in *Problem) { in.Pools[0].Catalog = types() },
		},
		{
			name: "requirements of the pool", pod: shape(20_000, gi), code: unschedulable.NoInstanceType,
			detail: "cpu: 20 requested, at most 3900m available for pods; the pod would fit without " + instanceTypeKey + " In [small]",
			change: func(in *Problem) {
				in.Pools[0].Requirements = in.Pools[0].Requirements.And(requirement.NewSet(requirement.New(instanceTypeKey, requirement.In, "small")))
			},
			flip: func(in *Problem) { in.Pools[0].Requirements = nil },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := problem(pods(1, c.pod), pool("default", types()...))
			if c.daemon != nil {
				in.DaemonSets = []*model.DaemonSet{{Namespace: "kube-system", Name: "agent", Shape: c.daemon}}
			}
			if c.change != nil {
				c.change(&in)
			}
			plan := Solve(in)
			if len(plan.Unschedulable) != 1 {
				t.Fatalf("the pod is not refused: %+v", plan.NodeClaims)
			}
			why := plan.Unschedulable[0].Reasons[0]
			if why.Code != c.code || why.Detail() != c.detail {
				t.Errorf("%s: %q, want %s: %q", why.Code, why.Detail(), c.code, c.detail)
			}
			if !strings.Contains(plan.Unschedulable[0].Reasons.String(), c.detail) {
				t.Errorf("the event lacks the detail: %s", plan.Unschedulable[0].Reasons)
			}
			if c.flip == nil {
				return
			}
			c.flip(&in)
			if plan = Solve(in); len(plan.Unschedulable) != 0 {
				t.Errorf("what would do does not: %s", plan.Unschedulable[0].Reasons)
			}
		})
	}
}

// TestWhatIsUsedOfALimitCountsPlannedNodes: usage includes existing nodes and planned ones.
func TestWhatIsUsedOfALimitCountsPlannedNodes(t *testing.T) {
	in := problem(pods(3, shape(30_000, gi)), limited(pool("default", instanceType("small", 4, 16, 0.10), instanceType("large", 32, 128, 1)), map[int]int64{resource.CPU: 70_000}))
	in.Nodes = []*model.Node{{ID: "n", NodeName: "n", Name: "n", Pool: "default", Managed: true, Capacity: resource.Vector{}.Set(resource.CPU, 4000)}}
	plan := Solve(in)
	if len(plan.NodeClaims) != 2 || len(plan.Unschedulable) != 1 {
		t.Fatalf("%d claims, %d unschedulable; want 2, 1", len(plan.NodeClaims), len(plan.Unschedulable))
	}
	want := "cpu: limit 70, used or planned 68, a limit of 100 would be sufficient"
	if got := plan.Unschedulable[0].Reasons[0].Detail(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	limited(in.Pools[0], map[int]int64{resource.CPU: 100_000})
	if plan = Solve(in); len(plan.Unschedulable) != 0 {
		t.Errorf("the limit that would do does not: %s", plan.Unschedulable[0].Reasons)
	}
}
