package solve

import (
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/diagnose"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/place"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/repack"
)

// Solve places the pods of the problem.
func Solve(p Problem) Plan {
	if hasPodGroups(&p) {
		return inGroups(p, runningMembers(&p), solveAlone)
	}
	return solveAlone(p)
}

// solveAlone places each pod as if it had no group.
func solveAlone(p Problem) Plan { return solveWithin(p, triesFor(p)) }

// solveWithin is solveAlone with at most so many strategies besides the first.
func solveWithin(p Problem, tries int) Plan {
	p, rejected := rejectDeviceless(p)
	r := compile.NewRun(p)
	r.Seed()
	w := &search{run: r, tries: tries, rejected: rejected}
	if mayHaveAlternatives(p) {
		w.restart = compile.BaseOf(r).Restart
	}
	return w.cheapest()
}

// solve places the pods of a compiled problem; rejected are those that could not be considered. It also returns the pods on nodes that
// prefer not to have them.
func solve(r *compile.Run, strategy place.Strategy, rejected []UnschedulablePods) (Plan, []*model.Pod) {
	s := place.NewPlacer(r, strategy)
	zones := s.Zones()
	unschedulable := diagnosed(s)
	return complete(s, zones, append(unschedulable, rejected...)), s.Unwelcome
}

// diagnosed fills a run, and returns the pods that fit nowhere with the reasons.
func diagnosed(s *place.Placer) []UnschedulablePods {
	repacked, loosen := placeAll(s)
	out := diagnose.DiagnoseAll(s)
	loosen()
	if !repacked && repacks(s.Run) {
		repack.RightSize(s)
	}
	return out
}

// fill is diagnosed without the reasons.
func fill(s *place.Placer) {
	repacked, loosen := placeAll(s)
	loosen()
	if !repacked && repacks(s.Run) {
		repack.RightSize(s)
	}
}

// placeAll places the pods of a run. It reports whether open nodes are final: where pods were placed beside those of DaemonSets. loosen is to be
// called once the reasons for which pods fit nowhere are known.
func placeAll(s *place.Placer) (final bool, loosen func()) {
	queue, concerned := place.SplitConcerned(s, s.Queue())
	s.PlaceAll(queue)
	loosen = s.Tighten()
	if len(concerned) > 0 {
		loosen()
	}
	place.Settle(s)
	s.FillHosts()
	if len(concerned) == 0 {
		return false, loosen
	}
	if repacks(s.Run) && s.Problem.Devices == nil {
		repack.RightSize(s)
		place.Reopen(s)
	}
	place.PlaceConcerned(s, concerned)
	return true, func() {} // counts of pods of DaemonSets rely on the candidates that are left
}

// complete is the plan of a run that is filled.
func complete(s *place.Placer, zones []ZoneCount, unschedulable []UnschedulablePods) Plan {
	plan := newPlan(s)
	plan.Unschedulable = append(plan.Unschedulable, unschedulable...)
	plan.Unlaunchable, plan.Zones, plan.OmittedDaemons = unlaunchablePools(s.Run), zones, s.OmittedDaemons()
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
