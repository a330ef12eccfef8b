package disruption

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
	"github.com/karpenter-anew/karpenter/internal/options"
	"github.com/karpenter-anew/karpenter/internal/problem"
)

// mostWorkers is how many simulations run at the same time at most; each worker holds a compiled copy of the cluster.
const maxWorkers = 8

// room is what the simulations of a scene share, worked out when the first method asks.
type simContext struct {
	input *disrupt.SimulationInput
	// candidates are those that simulations may move the pods of.
	candidates []disrupt.Candidate
	// simulators by what they are compiled for.
	simulators map[disrupt.Simulation][]*disrupt.Simulator
}

func (c *Controller) builder() problem.Builder {
	return problem.Builder{Client: c.Client, Cloud: c.Cloud, Store: c.Store, Translator: c.Translator, Catalogs: c.catalogs}
}

// room gathers what simulations about the candidates need. underway are commands whose end is taken for granted.
func (c *Controller) simContext(ctx context.Context, s view, candidates []disrupt.Candidate, underway []disrupt.Command) (*simContext, error) {
	source := c.builder()
	batch := c.Translator.Batch(s.snapshot, solve.Options{
		IgnorePreferences: c.Scheduling.PreferencePolicy == options.PreferenceIgnore,
		MaxInstanceTypes:  c.Cloud.MaxInstanceTypes,

		BestEffortMinValues: c.Scheduling.MinValuesPolicy == options.MinValuesBestEffort,
		Reserved:            c.reserved(),
		ReservationLabel:    c.Cloud.ReservationIDLabel,
	})
	p := batch.Problem
	moving, lost, err := source.Moving(ctx, batch.Leaving, s.budgets, s.now)
	if err != nil {
		return nil, err
	}
	if len(lost) > 0 {
		c.Log.Debug("simulating without pods that nobody can say a place for", "pods", len(lost))
	}
	p.Pods = append(p.Pods, moving...)
	if p.Nodes, err = source.Expect(ctx, p.Nodes); err != nil {
		return nil, err
	}
	pools, err := source.Pools(ctx)
	if err != nil {
		return nil, err
	}
	p.Pools = pools.Usable
	p.Resources = s.snapshot.Resources.Names()
	grown, err := c.resizedPods(ctx, candidates)
	if err != nil {
		return nil, err
	}
	r := &simContext{candidates: candidates, simulators: map[disrupt.Simulation][]*disrupt.Simulator{}}
	r.input = &disrupt.SimulationInput{
		Problem: p, Pools: s.qualifyInput(nil).Pools, Now: s.now, Unevictable: s.unevictable, Resized: grown, Underway: underway,
		SpotToSpot: c.Gates.SpotToSpotConsolidation,
		Totals:     disrupt.TotalsOf(s.snapshot, candidates, func(n *model.Node) float64 { return c.prices.of(s.pools, n) }),
	}
	return r, nil
}

// reserved is how reserved offerings are treated: simulations do not put pods off.
func (c *Controller) reserved() solve.ReservedMode {
	if c.Gates.ReservedCapacity {
		return solve.ReservedFallback
	}
	return solve.ReservedIgnored
}

// session is what a method decides with. Consolidation has as many simulators as there are processors, since one of its methods
// considers candidates in parallel.
func (r *simContext) session(c *Controller, m disrupt.Method, budgets disrupt.Budgets, until time.Time) disrupt.Session {
	want := 1
	if m.Simulates == disrupt.ForConsolidation {
		want = min(max(runtime.GOMAXPROCS(0), 1), maxWorkers)
	}
	sims := r.simulators[m.Simulates]
	if len(sims) < want {
		sims = make([]*disrupt.Simulator, want)
		var group sync.WaitGroup
		for i := range sims {
			group.Go(func() { sims[i] = r.input.Simulator(r.candidates, m.Simulates) })
		}
		group.Wait()
		r.simulators[m.Simulates] = sims
	}
	for _, sim := range sims {
		sim.Reset()
	}
	return disrupt.Session{
		Input: r.input, Budgets: budgets, Simulators: sims,
		Each:    func(n int, do func(*disrupt.Simulator, int)) { each(sims, n, do) },
		Expired: func() bool { return !c.Clock.Now().Before(until) },
	}
}

// each calls do for all numbers below n, in ascending order of their start, one call at a time for each sim.
func each(sims []*disrupt.Simulator, n int, do func(*disrupt.Simulator, int)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for _, sim := range sims {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(sim, i)
			}
		})
	}
	group.Wait()
}
