package disruption

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/parallel"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
	"github.com/karpenter-anew/karpenter/internal/problem"
)

// maxWorkers is the maximum number of concurrent simulations; each worker holds a compiled copy of the cluster.
const maxWorkers = 8

// simContext is what the simulations of a view share; it is built when the first method needs it.
type simContext struct {
	input *disrupt.SimulationInput
	// candidates are the nodes whose pods simulations may move.
	candidates []disrupt.Candidate
	// simulators holds the simulators by the simulation that they are compiled for.
	simulators map[disrupt.Simulation][]*disrupt.Simulator
	// workers is how many simulators a method may use.
	workers int
}

// workers is how many simulations run at a time.
func (d *Deps) workers() int {
	if d.Workers > 0 {
		return d.Workers
	}
	return min(runtime.GOMAXPROCS(0), maxWorkers)
}

func (g *gatherer) builder() problem.Builder {
	rules := problem.PolicyOf(g.Scheduling, g.Gates)
	rules.DeviceTimeout = problem.DeviceTimeout(g.Clock.Now)
	return problem.Builder{
		Reader: problem.ClientReader{Client: g.Client}, Pods: g.Store, Cloud: g.Cloud, Translator: g.Translator, Catalogs: g.catalogs,
		Policy: rules, Caps: g.Creations.Caps(), Predictions: g.Predictions,
	}
}

// capsDigest identifies what caps on cost leave to the pools. Launches in flight count against them, and nodes for a moment after they are gone, which
// the state of the cluster does not show.
func (g *gatherer) capsDigest(ctx context.Context, pools map[string]*v1.NodePool) string {
	caps := g.Creations.Caps()
	if caps == nil {
		return ""
	}
	used, err := caps.Of(ctx, slices.Collect(maps.Values(pools)))
	return fmt.Sprint(used, err) // maps are printed by key
}

// simContext builds the context for simulations of the candidates. underway are commands that are assumed to be complete, unless their
// nodes are gone.
func (g *gatherer) simContext(ctx context.Context, v view, candidates []disrupt.Candidate, underway []disrupt.Command) (*simContext, error) {
	input, ignored, err := g.builder().Disruption(ctx, problem.Disruption{
		Snapshot: v.snapshot, Now: v.now, Pools: v.qualifyInput(nil).Pools, Candidates: candidates,
		Budgets: v.budgets, Unevictable: v.unevictable, Underway: problem.Standing(underway, v.snapshot),
		PriceOf: func(n *model.Node) float64 { return g.prices.of(v.pools, n) },
	})
	if err != nil {
		return nil, err
	}
	input.Problem.Pods = g.withoutQuarantined(input.Problem.Pods)
	if len(ignored) > 0 {
		g.Log.Debug("simulating without pods that cannot be considered", logfield.PodCount(len(ignored)))
	}
	return &simContext{input: input, candidates: candidates, simulators: map[disrupt.Simulation][]*disrupt.Simulator{}, workers: g.workers()}, nil
}

// session returns the input of a method. Consolidation has as many simulators as there are workers, since one of its methods
// considers candidates in parallel.
func (s *simContext) session(clk clock.Clock, m disrupt.Method, budgets disrupt.Budgets, until time.Time) disrupt.Session {
	want := 1
	if m.Simulates == disrupt.ForConsolidation {
		want = s.workers
	}
	sims := s.simulators[m.Simulates]
	if len(sims) < want {
		sims = make([]*disrupt.Simulator, want)
		parallel.Times(want, want, func(i int) error {
			sims[i] = s.input.Simulator(s.candidates, m.Simulates)
			return nil
		})
		s.simulators[m.Simulates] = sims
	}
	for _, sim := range sims {
		sim.Reset()
	}
	return disrupt.Session{
		Input: s.input, Budgets: budgets, Simulators: sims,
		Each:    func(n int, do func(*disrupt.Simulator, int)) { each(sims, n, do) },
		Expired: func() bool { return !clk.Now().Before(until) },
	}
}

// simulator returns a simulator that is compiled for a kind of simulation; it is built when it is first needed.
func (s *simContext) simulator(kind disrupt.Simulation) *disrupt.Simulator {
	if len(s.simulators[kind]) == 0 {
		s.simulators[kind] = []*disrupt.Simulator{s.input.Simulator(s.candidates, kind)}
	}
	return s.simulators[kind][0]
}

// each calls do for all numbers below n, in ascending order of their start, one call at a time for each sim.
func each(sims []*disrupt.Simulator, n int, do func(*disrupt.Simulator, int)) {
	var next atomic.Int64
	parallel.ForEach(sims, len(sims), func(sim *disrupt.Simulator) error {
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			do(sim, i)
		}
		return nil
	})
}
