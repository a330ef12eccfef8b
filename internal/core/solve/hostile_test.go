package solve

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
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
