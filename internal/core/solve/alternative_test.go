package solve

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
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

func TestAlternativesAreForSmallProblemsWithSeveralChoices(t *testing.T) {
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
		"pods of one shape":                {func(p *Problem) { p.Pods = pods(2, shape(3000, gi)) }, 1},
		"pods of two shapes":               {func(p *Problem) { p.Pods = append(pods(1, shape(3000, gi)), pods(1, shape(2500, gi))...) }, 3},
		"a single NodeClaim":               {func(p *Problem) { p.Pods = p.Pods[:1] }, 1},
		"many pods":                        {func(p *Problem) { p.Pods = append(p.Pods, pods(maxAlternativePods, shape(100, gi))...) }, 1},
		"preferences":                      {preferring, 1},
		"preferences that are ignored":     {func(p *Problem) { preferring(p); p.Options.Preferences = model.IgnorePreferences }, 3},
		"a pool that pods prefer to avoid": {func(p *Problem) { p.Pools[0].Taints = []model.Taint{{Key: "a", Effect: model.PreferNoSchedule}} }, 3},
	} {
		p := unshared()
		c.change(&p)
		r := compile.NewRun(p)
		r.Seed()
		base, tried := compile.BaseOf(r), 1
		w := &search{run: r, tries: 2, restart: func() *compile.Run { tried++; return base.Restart() }}
		if w.cheapest(); tried != c.want {
			t.Errorf("%s: solved with %d strategies, want %d", name, tried, c.want)
		}
	}
}

// TestOneNodeClaimHasAlternativesUnlessTriesAreFew: what-ifs, which are many, mostly have one NodeClaim.
func TestOneNodeClaimHasAlternativesUnlessTriesAreFew(t *testing.T) {
	p := unshared()
	p.Pods = p.Pods[:1]
	for tries, want := range map[int]int{whatIfTries: 1, whatIfTries + 1: whatIfTries + 2} {
		r := compile.NewRun(p)
		r.Seed()
		base, solved := compile.BaseOf(r), 1
		w := &search{run: r, tries: tries, restart: func() *compile.Run { solved++; return base.Restart() }}
		if w.cheapest(); solved != want {
			t.Errorf("with %d tries, solved with %d strategies, want %d", tries, solved, want)
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
		other     Plan
		unwelcome []*model.Pod
		taken     bool
	}{
		"cheaper":                                                 {Plan{NodeClaims: claims(4, 4)}, nil, true},
		"hardly cheaper":                                          {Plan{NodeClaims: claims(4, 5.95)}, nil, true},
		"as expensive":                                            {Plan{NodeClaims: claims(4, 6)}, nil, false},
		"hardly cheaper, one node more":                           {Plan{NodeClaims: claims(2, 4, 3.95)}, nil, false},
		"two percent cheaper, two nodes more":                     {Plan{NodeClaims: claims(2, 2, 2, 3.75)}, nil, true},
		"one percent cheaper, two nodes more":                     {Plan{NodeClaims: claims(2, 2, 2, 3.85)}, nil, false},
		"cheaper, without one of the pods":                        {Plan{NodeClaims: claims(4), Unschedulable: refused}, nil, false},
		"cheaper, with a pod undecided":                           {Plan{NodeClaims: claims(4), Undecided: p.Pods[:1]}, nil, false},
		"cheaper, on the node that a pod prefers to avoid anyway": {Plan{NodeClaims: claims(4)}, p.Pods[1:], true},
		"cheaper, on the node that another pod prefers to avoid":  {Plan{NodeClaims: claims(4)}, p.Pods[:1], false},
	} {
		if taken := outcomeOf(c.other, c.unwelcome).cheaperThan(outcomeOf(Plan{NodeClaims: claims(5, 5)}, p.Pods[1:])); taken != c.taken {
			t.Errorf("%s: the alternative is taken: %v, want %v", name, taken, c.taken)
		}
	}
}

// TestTaintsThatPodsPreferToAvoidLeaveAlternatives: a second pool has a PreferNoSchedule taint, and nothing else changes.
func TestTaintsThatPodsPreferToAvoidLeaveAlternatives(t *testing.T) {
	s := shape(1900, gi)
	s.Spreads = []topology.Spread{spreadOver(zoneKey, 100, "web")}
	avoided := pool("avoided", instanceType("large", 8, 32, 0.1))
	avoided.Taints = []model.Taint{{Key: "a", Effect: model.PreferNoSchedule}}
	p := problem(labelled(pods(2, s), "web"), pool("default", offeredIn(1, instanceType("small", 2, 8, 0.25)), offeredIn(2, instanceType("medium", 4, 16, 0.4))), avoided)
	plan := Solve(p)
	if len(plan.NodeClaims) != 1 || plan.NodeClaims[0].Pool != "default" || plan.Price() != 0.4 {
		t.Errorf("got %v, want one node of the other pool with both pods", look(plan))
	}
}

// TestWhatIfsUseAlternatives: their plans are those of Solve, and commits build on them.
func TestWhatIfsUseAlternatives(t *testing.T) {
	spreading, filling := shape(1400, gi/4), shape(200, 4*gi)
	spreading.Spreads = []topology.Spread{spreadOver(zoneKey, 1, "web")}
	p := problem(append(labelled(pods(2, spreading), "web"), named(pods(5, filling), "filler")...),
		pool("default", instanceType("low", 4, 8, 1), instanceType("middle", 4, 16, 1.1), instanceType("high", 4, 32, 1.5)))
	first, want := solveWith(p, place.Strategy{}), Solve(p)
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
	plan, _ := solve(r, strategy, nil)
	return plan
}

// TestOneDomainMayBeCheaperForAll: two pods of a spread that allows both in one domain. First fit puts the first where a node for it costs
// least; a node for both costs less than two.
func TestOneDomainMayBeCheaperForAll(t *testing.T) {
	s := shape(1900, gi)
	s.Spreads = []topology.Spread{spreadOver(zoneKey, 100, "web")}
	p := problem(labelled(pods(2, s), "web"), pool("default", offeredIn(1, instanceType("small", 2, 8, 0.25)), offeredIn(2, instanceType("medium", 4, 16, 0.4))))
	if first := solveWith(p, place.Strategy{}); len(first.NodeClaims) != 2 {
		t.Fatalf("first fit needs %d nodes, want 2", len(first.NodeClaims))
	}
	if plan := Solve(p); len(plan.NodeClaims) != 1 || plan.Price() != 0.4 {
		t.Errorf("got %v, want one node with both pods", look(plan))
	}
}

// TestPodsThatOthersCountStayBeforeThem: the pods of "worker" have no constraint, and those of "web" spread beside them. The larger workers are
// placed first, and no strategy places them on nodes of "web": kube-scheduler would have to bind "web" before them.
func TestPodsThatOthersCountStayBeforeThem(t *testing.T) {
	web := shape(100, gi/4)
	web.Spreads = []topology.Spread{spreadOver(zoneKey, 1, "web")}
	p := problem(append(labelled(pods(3, shape(900, gi/4)), "web"), labelled(named(pods(2, web), "web"), "web")...),
		pool("default", instanceType("small", 1, 2, 0.1), instanceType("medium", 2, 4, 0.2)))
	for _, c := range Solve(p).NodeClaims {
		kinds := map[*model.Shape]bool{}
		for _, pod := range c.Pods {
			kinds[pod.Shape] = true
		}
		if len(kinds) > 1 {
			t.Errorf("a node has pods of both workloads: %v", look(Solve(p)))
		}
	}
}

// TestReplayedWhatIfsAreCommitted: a commit is of the cheapest plan, not of the strategy that was tried last.
func TestReplayedWhatIfsAreCommitted(t *testing.T) {
	p := fleet(6, 8, true, rand.New(rand.NewPCG(5, 3))) //nolint:gosec // a test
	p.Nodes = p.Nodes[:3]
	base := NewBase(p, all(p))
	gone, next := p.Nodes[:2], p.Nodes[2]
	for _, strategy := range []place.Strategy{{}, {Fit: place.EmptiestFit}, {Domains: place.Permuted + 1, Order: -1}} {
		pods := slices.Concat(gone[0].Pods, gone[1].Pods)
		base.Solve(gone, pods)
		base.last.best, base.last.last = strategy, place.Strategy{Fit: place.CheapestFit}
		base.Commit()
		want := look(base.Solve([]*model.Node{next}, next.Pods))
		base.Reset()
		base.last = nil
		newPlan(filled(base, gone, pods, strategy))
		base.Commit()
		if diff := cmp.Diff(want, look(base.Solve([]*model.Node{next}, next.Pods))); diff != "" {
			t.Errorf("%v: %s", strategy, diff)
		}
		base.Reset()
	}
}

func filled(b *Base, without []*model.Node, pods []*model.Pod, strategy place.Strategy) *place.Placer {
	p := b.base.Problem
	p.Pods = slices.Concat(p.Pods, pods)
	p.ExcludedNodes = slices.Concat(p.ExcludedNodes, without)
	s := place.NewPlacer(b.base.Fork(p, without, pods), strategy)
	fill(s)
	return s
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
		"first fit":      func() Plan { return solveWith(p, place.Strategy{}) },
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

// TestAPodOnANewNodeOpensADomainOfExistingNodes: the spread admits no third pod in zone a before zone b has one. Then the other pod fits on the
// node that exists.
func TestAPodOnANewNodeOpensADomainOfExistingNodes(t *testing.T) {
	web := shape(1800, gi)
	web.Spreads = []topology.Spread{spreadOver(zoneKey, 2, "web")}
	in := pool("default", instanceType("small", 2, 4, 0.1), instanceType("large", 4, 8, 0.15))
	in.Requirements = in.Requirements.Add(requirement.New(zoneKey, requirement.In, "zone-b"))
	p := problem(labelled(named(pods(2, web), "web"), "web"), in)
	full := existing("full")
	full.Pods, full.Used = labelled(named(pods(2, web), "running"), "web"), full.Allocatable
	p.Nodes = []*model.Node{existing("free"), full}
	if plan := Solve(p); plan.Price() > 0.1+1e-9 || unschedulablePods(plan) > 0 {
		t.Errorf("$%.2f/h, want one small node for $0.10: %v", plan.Price(), look(plan))
	}
}

// TestPodsThatTheirSpreadDoesNotCountUseFullerDomains: the spread of the batch pods counts other pods. It admits zone a, which has none, and
// zone b, which has one; only there do they share nodes with the caches.
func TestPodsThatTheirSpreadDoesNotCountUseFullerDomains(t *testing.T) {
	batch, cached := shape(3000, gi), shape(500, 6*gi)
	batch.Spreads = []topology.Spread{spreadOver(zoneKey, 1, "web")}
	cached.Selector = requirement.NewSet(requirement.New(zoneKey, requirement.In, "zone-b"))
	list := append(labelled(named(pods(2, batch), "batch"), "batch"), labelled(named(pods(2, cached), "cache"), "cache")...)
	p := problem(list, pool("default", instanceType("medium", 4, 16, 0.2)))
	full := existing("full")
	full.Requirements = full.Requirements.Without(zoneKey).Add(requirement.New(zoneKey, requirement.In, "zone-b"))
	full.Pods, full.Used = labelled(named(pods(1, shape(100, gi)), "running"), "web"), full.Allocatable
	p.Nodes = []*model.Node{full}
	if plan := Solve(p); plan.Price() > 0.4+1e-9 || unschedulablePods(plan) > 0 {
		t.Errorf("$%.2f/h, want two nodes for $0.40: %v", plan.Price(), look(plan))
	}
}
