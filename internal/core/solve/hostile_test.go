package solve

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
	"github.com/karpenter-anew/karpenter/internal/core/unschedulable"
)

// preferringOtherKeys are pods that prefer nodes without values of many labels, no label twice.
func preferringOtherKeys(count, terms int) []*model.Pod {
	var out []*model.Pod
	for i := range count {
		s := shape(int64(100+i), gi/8)
		for k := range terms {
			key := fmt.Sprintf("example.com/key-%d-%d", i, k)
			s.Preferred = append(s.Preferred, model.Preference{Weight: int32(terms - k), Terms: requirement.NewSet(requirement.New(key, requirement.NotIn, "v"))})
		}
		out = append(out, pods(1, s)...)
	}
	return out
}

// preferringOtherValues are pods that prefer nodes without values of a well-known label, no value twice.
func preferringOtherValues(count, terms int) []*model.Pod {
	var out []*model.Pod
	for i := range count {
		s := shape(int64(100+i), gi/8)
		for k := range terms {
			s.Preferred = append(s.Preferred, model.Preference{
				Weight: int32(terms - k), Terms: requirement.NewSet(requirement.New(instanceTypeKey, requirement.NotIn, fmt.Sprintf("type-%d-%d", i, k))),
			})
		}
		out = append(out, pods(1, s)...)
	}
	return out
}

// allocated is how many bytes f allocates, and how many of them are still in use when it returns.
func allocated(f func() any) (total, live int64) {
	var before, after, kept runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	result := f()
	runtime.ReadMemStats(&after)
	runtime.GC()
	runtime.ReadMemStats(&kept)
	runtime.KeepAlive(result)
	return int64(after.TotalAlloc - before.TotalAlloc), int64(kept.HeapAlloc) - int64(before.HeapAlloc)
}

func TestHostilePreferencesTakeBoundedMemory(t *testing.T) {
	const mib = 1 << 20
	for name, hostile := range map[string]func(pods, terms int) []*model.Pod{"keys": preferringOtherKeys, "values": preferringOtherValues} {
		t.Run(name, func(t *testing.T) {
			in := problem(append(hostile(300, 100), named(pods(10, shape(1000, gi)), "honest")...), pool("default", cores(16)...), pool("other", cores(8)...))
			total, _ := allocated(func() any { return Solve(in) })
			t.Logf("%d MiB", total/mib)
			if total > 100*mib {
				t.Errorf("%d MiB allocated, want at most 100", total/mib)
			}
		})
	}
}

// BenchmarkHostilePreferences shows that time and memory grow with the number of preferences, not with its square.
func BenchmarkHostilePreferences(b *testing.B) {
	for _, count := range []int{75, 150, 300} {
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			in := problem(preferringOtherKeys(count, 100), pool("default", cores(16)...))
			b.ReportAllocs()
			for b.Loop() {
				Solve(in)
			}
		})
	}
}

func TestANodeClaimNeverHasMoreRequirementsThanItsSchemaAllows(t *testing.T) {
	manyKeys := shape(100, gi/8)
	for i := range 150 {
		manyKeys.Selector = manyKeys.Selector.Add(requirement.New(fmt.Sprintf("example.com/key-%03d", i), requirement.NotIn, "v"))
	}
	p := pool("default", cores(4)...)
	for i := range 90 {
		p.Requirements = p.Requirements.Add(requirement.New(fmt.Sprintf("example.com/pool-%03d", i), requirement.Exists))
	}
	narrowing := shape(100, gi/8)
	for i := range 10 {
		key := fmt.Sprintf("example.com/pool-%03d", i)
		narrowing.Selector = narrowing.Selector.Add(requirement.New(key, requirement.Gt, "1")).Add(requirement.New(key, requirement.Lt, "9")).
			Add(requirement.New(key, requirement.NotIn, "5"))
	}
	plan := Solve(problem(slices.Concat(pods(1, manyKeys), pods(1, narrowing), pods(3, shape(1000, gi))), p))
	if len(plan.NodeClaims) == 0 {
		t.Fatal("nothing is planned")
	}
	for _, c := range plan.NodeClaims {
		if n := len(c.Requirements); n > compile.MaxRequirements {
			t.Errorf("%d requirements", n)
		}
	}
	if len(plan.Unschedulable) != 1 || plan.Unschedulable[0].Reasons[0].Code != unschedulable.TooManyRequirements {
		t.Errorf("unschedulable: %v, want the pod that narrows too many labels of the pool", plan.Unschedulable)
	}
}

// softlySpreadOver is a shape with soft spread constraints on labels; instance types have three values of each.
func softlySpreadOver(labels int) (*model.Shape, []*catalog.InstanceType) {
	types := cores(16)
	s := shape(1000, gi)
	for k := range labels {
		key := fmt.Sprintf("karpenter.sh/nodepool-%d", k)
		s.Spreads = append(s.Spreads, topology.Spread{Key: key, MaxSkew: 1, Soft: true, Namespace: "default", Selector: appIs("web")})
		for i, it := range types {
			it.Requirements = it.Requirements.Add(requirement.New(key, requirement.In, fmt.Sprint(i%3)))
		}
	}
	return s, types
}

func knowing(p Problem) Problem {
	p.Options.WellKnown = func(key string) bool { return wellKnown(key) || strings.HasPrefix(key, "karpenter.sh/nodepool") }
	return p
}

func TestCombinationsOfDomainsAreBounded(t *testing.T) {
	const mib = 1 << 20
	s, types := softlySpreadOver(10)
	in := knowing(problem(append(labelled(pods(1, s), "web"), named(pods(10, shape(1000, gi)), "honest")...), pool("default", types...)))
	var plan Plan
	total, _ := allocated(func() any { plan = Solve(in); return plan })
	if total > 60*mib {
		t.Errorf("%d MiB allocated for one pod, want at most 60", total/mib)
	}
	if len(plan.Unschedulable)+len(plan.Undecided) > 0 {
		t.Errorf("%d unschedulable, %d undecided", len(plan.Unschedulable), len(plan.Undecided))
	}
}

func TestNoPodWaitsForExpensiveOnes(t *testing.T) {
	s, types := softlySpreadOver(40)
	s.Requests = s.Requests.Set(resource.CPU, 4000)
	in := knowing(problem(append(labelled(pods(3, s), "web"), named(pods(100, shape(1000, gi)), "honest")...), pool("default", types...)))
	asked := 0
	in.Options.Stop = func() bool {
		asked++
		return asked > 40
	}
	plan := Solve(in)
	placed := 0
	for _, c := range plan.NodeClaims {
		placed += len(c.Pods)
	}
	if placed < 100 {
		t.Errorf("%d pods placed before the run was stopped, want the 100 that are simple", placed)
	}
	if len(plan.Undecided) == 0 || placed+len(plan.Undecided) != 103 {
		t.Errorf("%d pods undecided beside %d placed", len(plan.Undecided), placed)
	}
	if asked > 42 {
		t.Errorf("the run went on after it was stopped: asked %d times", asked)
	}
}
