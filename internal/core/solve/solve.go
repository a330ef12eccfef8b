package solve

import (
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/diagnose"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/place"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/repack"
)

// Solve places the pods of the problem.
func Solve(p Problem) Plan {
	p, rejected := rejectDeviceless(p)
	plan, _ := cheapest(p, func(strategy place.Strategy) Plan {
		r := compile.NewRun(p)
		r.Seed()
		return solve(r, strategy, rejected)
	})
	return plan
}

// solve places the pods of a compiled problem; rejected are those that could not be considered.
func solve(r *compile.Run, strategy place.Strategy, rejected []UnschedulablePods) Plan {
	s := place.NewPlacer(r, strategy)
	zones := s.Zones()
	s.PlaceAll(s.Queue())
	s.Tighten()
	s.FillHosts()
	diagnosed := diagnose.DiagnoseAll(s)
	if !r.Problem.Options.DisableRepacking && !r.Classes.OverPreferenceBudget() {
		repack.RightSize(s)
	}
	plan := newPlan(s)
	plan.Unschedulable = append(plan.Unschedulable, append(diagnosed, rejected...)...)
	plan.Unlaunchable, plan.Zones, plan.OmittedDaemons = unlaunchablePools(r), zones, r.OmittedDaemons()
	return plan
}

// unlaunchablePools lists the pools that can launch nothing: those without any instance type first, each kind in the order of
// trial.
func unlaunchablePools(r *compile.Run) []UnlaunchablePool {
	var out []UnlaunchablePool
	for _, t := range r.Unlaunchable {
		out = append(out, UnlaunchablePool{Pool: t.Pool.Name, Unavailable: diagnose.UnavailableOfferings(t)})
	}
	for _, t := range r.Templates {
		if root := t.States[t.Root]; len(t.Unmet(root, root.Mask)) > 0 && !t.BestEffort {
			out = append(out, UnlaunchablePool{Pool: t.Pool.Name, MinValues: true})
		}
	}
	return out
}
