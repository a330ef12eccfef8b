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
	queue, concerned := place.SplitConcerned(s.Queue())
	s.PlaceAll(queue)
	s.Tighten()
	s.FillHosts()
	if len(concerned) > 0 {
		if repacks(r) && r.Problem.Devices == nil {
			repack.RightSize(s)
			place.Reopen(s)
		}
		place.PlaceConcerned(s, concerned)
	}
	diagnosed := diagnose.DiagnoseAll(s)
	if len(concerned) == 0 && repacks(r) {
		repack.RightSize(s)
	}
	plan := newPlan(s)
	plan.Unschedulable = append(plan.Unschedulable, append(diagnosed, rejected...)...)
	plan.Unlaunchable, plan.Zones, plan.OmittedDaemons = unlaunchablePools(r), zones, r.OmittedDaemons()
	return plan
}

// repacks reports whether open nodes are repacked.
func repacks(r *compile.Run) bool {
	return !r.Problem.Options.DisableRepacking && !r.Classes.OverPreferenceBudget()
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
