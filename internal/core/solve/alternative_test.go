package solve

import (
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/place"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

// unshared is two pods that share no node: a problem with two NodeClaims.
func unshared() Problem {
	return problem(labelled(func() []*model.Pod {
		s := shape(1000, gi)
		s.Affinities = []topology.Affinity{far(hostnameKey, "web")}
		return pods(2, s)
	}(), "web"), pool("default", instanceType("m", 4, 16, 1)))
}

// solved is the strategies that a problem was solved with, where each plan is what plan returns.
func solved(p Problem, plan func(place.Strategy) Plan) (tried []place.Strategy, best Plan) {
	best, _ = cheapest(p, func(strategy place.Strategy) Plan {
		tried = append(tried, strategy)
		return plan(strategy)
	})
	return tried, best
}

func TestAlternativesAreForSmallProblemsWithConstraintsBetweenPods(t *testing.T) {
	preferring := func(p *Problem) {
		s := *p.Pods[0].Shape
		s.Spreads = []topology.Spread{spreadOver(zoneKey, 1, "web")}
		s.Spreads[0].Soft = true
		p.Pods[0].Shape = &s
	}
	for name, c := range map[string]struct {
		change func(*Problem)
		want   int
	}{
		"as it is":                         {func(*Problem) {}, 3},
		"without constraints":              {func(p *Problem) { p.Pods = pods(2, shape(3000, gi)) }, 1},
		"a single NodeClaim":               {func(p *Problem) { p.Pods = p.Pods[:1] }, 1},
		"many pods":                        {func(p *Problem) { p.Pods = append(p.Pods, pods(maxAlternativePods, shape(100, gi))...) }, 1},
		"preferences":                      {preferring, 1},
		"preferences that are ignored":     {func(p *Problem) { preferring(p); p.Options.IgnorePreferences = true }, 3},
		"a pool that pods prefer to avoid": {func(p *Problem) { p.Pools[0].Taints = []model.Taint{{Key: "a", Effect: model.PreferNoSchedule}} }, 1},
	} {
		p := unshared()
		c.change(&p)
		if tried, _ := solved(p, func(strategy place.Strategy) Plan { return solveWith(p, strategy) }); len(tried) != c.want {
			t.Errorf("%s: solved with %v, want %d strategies", name, tried, c.want)
		}
	}
}

func TestAnAlternativeMustSaveAndPlaceTheSamePods(t *testing.T) {
	p := unshared()
	claims := func(prices ...float64) (out []NodeClaim) {
		for _, price := range prices {
			out = append(out, NodeClaim{Price: price})
		}
		return out
	}
	refused := []UnschedulablePods{{Pods: p.Pods[:1]}}
	for name, c := range map[string]struct {
		other Plan
		taken bool
	}{
		"cheaper":                             {Plan{NodeClaims: claims(4, 4)}, true},
		"hardly cheaper":                      {Plan{NodeClaims: claims(4, 5.95)}, false},
		"two percent cheaper, two nodes more": {Plan{NodeClaims: claims(2, 2, 2, 3.75)}, true},
		"one percent cheaper, two nodes more": {Plan{NodeClaims: claims(2, 2, 2, 3.85)}, false},
		"cheaper, without one of the pods":    {Plan{NodeClaims: claims(4), Unschedulable: refused}, false},
		"cheaper, with a pod undecided":       {Plan{NodeClaims: claims(4), Undecided: p.Pods[:1]}, false},
	} {
		c.other.Zones = []ZoneCount{{Zone: "other"}}
		_, best := solved(p, func(strategy place.Strategy) Plan {
			if strategy == place.FirstFit {
				return Plan{NodeClaims: claims(5, 5)}
			}
			return c.other
		})
		if taken := len(best.Zones) > 0; taken != c.taken {
			t.Errorf("%s: the alternative is taken: %v, want %v", name, taken, c.taken)
		}
	}
}

// TestWhatIfsUseAlternatives: their plans are those of Solve, and commits build on them.
func TestWhatIfsUseAlternatives(t *testing.T) {
	spreading, filling := shape(1400, gi/4), shape(200, 4*gi)
	spreading.Spreads = []topology.Spread{spreadOver(zoneKey, 1, "web")}
	p := problem(append(labelled(pods(2, spreading), "web"), named(pods(5, filling), "filler")...),
		pool("default", instanceType("low", 4, 8, 1), instanceType("middle", 4, 16, 1.1), instanceType("high", 4, 32, 1.5)))
	first, want := solveWith(p, place.FirstFit), Solve(p)
	if want.Price() >= first.Price() {
		t.Fatalf("the plan costs %v, first fit %v: no alternative is cheaper", want.Price(), first.Price())
	}
	b := NewBase(problem(nil, p.Pools...), p.Pods)
	if got := b.Solve(nil, p.Pods); got.Price() != want.Price() {
		t.Errorf("the what-if costs %v, the plan %v", got.Price(), want.Price())
	}
}

func solveWith(p Problem, strategy place.Strategy) Plan {
	r := compile.NewRun(p)
	r.Seed()
	return solve(r, strategy, nil)
}

// BenchmarkAlternatives compares first fit alone with all strategies, for as many pods as are solved with several.
func BenchmarkAlternatives(b *testing.B) {
	p := mixedProblem(0, 800, 1)
	for i := range 8 {
		s, app := shape(500+200*int64(i), gi), string(rune('a'+i))
		s.Spreads = []topology.Spread{spreadOver(zoneKey, 1, app), spreadOver(hostnameKey, 2, app)}
		p.Pods = append(p.Pods, labelled(named(pods(maxAlternativePods/8, s), app), app)...)
	}
	for name, run := range map[string]func() Plan{
		"first fit":      func() Plan { return solveWith(p, place.FirstFit) },
		"all strategies": func() Plan { return Solve(p) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				plan := run()
				b.ReportMetric(plan.Price(), "$/h")
			}
		})
	}
}
