package solve

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

// cappedPatiently tries every cap to its end.
func cappedPatiently(cl *claim, whole float64, base stateID) []*claim {
	best := []*claim{cl}
	for _, limit := range cl.caps() {
		if pieces := cl.repack(limit, base, quota{whole, math.Inf(1)}); pieces != nil && burden(pieces, whole) < burden(best, whole) {
			best = pieces
		}
	}
	return best
}

// TestGivingUpEarlyLosesNothing compares right-sizing with and without what tells it that going on is of no use, on
// machines with odd prices and pods with different demands, with and without limits.
func TestGivingUpEarlyLosesNothing(t *testing.T) {
	split := 0
	rapid.Check(t, func(t *rapid.T) {
		var types catalog.Catalog
		for i := range rapid.IntRange(1, 6).Draw(t, "types") {
			it := machine(fmt.Sprint("m", i), rapid.Int64Range(1, 16).Draw(t, "cores"), rapid.Int64Range(1, 32).Draw(t, "gib"),
				float64(rapid.IntRange(1, 40).Draw(t, "price"))/20)
			it.Offerings[0].Price *= rapid.SampledFrom([]float64{1, 0.5, 3}).Draw(t, "factor")
			types = append(types, it)
		}
		p := Problem{Pools: []*model.Pool{pool("default", types...)}, Options: Options{WellKnown: wellKnown}}
		if rapid.Bool().Draw(t, "limited") {
			p.Pools[0].Limits = map[int]int64{resource.CPU: rapid.Int64Range(4000, 60000).Draw(t, "limit")}
		}
		for i := range rapid.IntRange(1, 5).Draw(t, "shapes") {
			shape := &model.Shape{Requests: resource.Vector{rapid.Int64Range(100, 3000).Draw(t, "cpu"), rapid.Int64Range(0, 4*gi).Draw(t, "memory"), 1}}
			if rapid.Bool().Draw(t, "picky") {
				shape.Selector = requirement.NewSet(requirement.New(zoneKey, requirement.In, rapid.SampledFrom([]string{"zone-a", "zone-b"}).Draw(t, "zone")))
			}
			for j := range rapid.IntRange(1, 12).Draw(t, "pods") {
				p.Pods = append(p.Pods, &model.Pod{UID: fmt.Sprint("pod-", i, "-", j), Shape: shape})
			}
		}
		s := compile(p)
		s.placeAll(s.queue())
		for _, cl := range s.claims {
			base, whole := s.base(cl), cl.price()
			want, got := cappedPatiently(cl, whole, base), cl.capped(whole, base)
			if len(want) != len(got) || burden(want, whole) != burden(got, whole) {
				t.Errorf("%d machines with a burden of %v, and %d with %v when every way is tried to its end",
					len(got), burden(got, whole), len(want), burden(want, whole))
			}
			for i := range min(len(want), len(got)) {
				if a, b := fmt.Sprint(want[i].total), fmt.Sprint(got[i].total); a != b {
					t.Errorf("machine %d holds %s, and %s when every way is tried to its end", i, b, a)
				}
			}
			if len(got) > 1 {
				split++
			}
		}
	})
	if split == 0 {
		t.Error("no claim was split: the test shows nothing")
	}
}
