package provisioning

import (
	"strconv"

	"github.com/karpenter-anew/karpenter/internal/core/solve"
)

// solve runs the solver for at most a minute. Metrics show the number of pods and the time while it runs.
func (p *Provisioner) solve(problem solve.Problem) solve.Plan {
	p.runs++
	id := strconv.FormatUint(p.runs, 10)
	depth, age := p.Metrics.Scheduler.QueueDepth, p.Metrics.Scheduler.UnfinishedWork
	defer depth.DeleteLabelValues(name, id)
	defer age.DeleteLabelValues(name, id)
	depth.WithLabelValues(name, id).Set(float64(len(problem.Pods)))
	unfinished := age.WithLabelValues(name, id)

	started := p.Clock.Now()
	deadline := started.Add(solveTimeout)
	problem.Options.Stop = func() bool {
		now := p.Clock.Now()
		unfinished.Set(now.Sub(started).Seconds())
		return now.After(deadline)
	}
	p.solving = problem.Pods
	plan := p.solver(problem)
	switch p.expected {
	case growing:
		plan = forSeries(p.solver, problem, plan, moreToCome())
	case ending:
		plan = forSeries(p.solver, problem, plan, lastOne())
	case alone:
	}
	p.solved = append(p.solved, problem.Pods...)
	p.Metrics.Scheduler.Duration.WithLabelValues(name).Observe(p.Clock.Since(started).Seconds())
	return plan
}
