package solve

import (
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/place"
)

// Problem: first fit decides pod by pod, and constraints on other pods fix what it decides: repacking leaves pods in their domains and
// their pools. Which of the open nodes takes a pod, and which of equal domains is opened, is arbitrary, and what follows may cost more
// than another choice. Repacking itself fills one bin after the other, from what first fit left. Approach: small problems with such
// constraints, or with pods of several shapes, are solved again with other strategies, and the cheapest plan counts.
// The problem is compiled once: a strategy costs what placing and repacking cost. The first strategies prefer other open nodes, the next ones
// put one run of pods before the others, and the rest permute the queue and the domains that are equally full. Where pods of DaemonSets concern
// some of the pods, a part of the strategies places these beside the others instead of after them.
// Invariant: no pod loses its place or a preference. Cost: a multiple of placing the pods of a small problem.

const (
	// maxAlternativePods is how many pods a problem may have to be solved with several strategies.
	maxAlternativePods = 64
	// minNodeSaving is the part of the price that a plan has to save for each node that it has more than another one: a failure is more
	// likely with more nodes.
	minNodeSaving = 0.01
	// rounding is the part of the price by which plans with equal nodes may differ, as prices are added up in another order.
	rounding = 1e-9
	// maxTries is how many strategies a problem is solved with besides the first, whatIfTries the same for a what-if, which is one of many.
	maxTries, whatIfTries = 42, 3
	// maxPlaced is how many pods all strategies together may place, maxVisited how many existing nodes they may look at, as long as there are as
	// many strategies as for a what-if.
	maxPlaced, maxVisited = 512, 1 << 13
	// maxFirst is how many of them put one run of pods before the others.
	maxFirst = 6
)

// search is the strategies for one problem.
type search struct {
	// run is the compiled problem, on which nothing is placed yet; restart makes it so again, nil where that is not needed.
	run     *compile.Run
	restart func() *compile.Run
	// tries is how many strategies are tried besides the first.
	tries int
	// rejected are pods that could not be considered.
	rejected []UnschedulablePods
	// best is the strategy of the cheapest plan, last the one that the run was filled with last.
	best, last place.Strategy
}

// triesFor is how many strategies the problem is solved with besides the first: the more pods and nodes there are, the more a strategy costs.
func triesFor(p Problem) int {
	return max(whatIfTries, min(maxTries, maxPlaced/(len(p.Pods)+1), maxVisited/(len(p.Nodes)+1)))
}

// cheapest solves a problem with the strategies that may matter, and returns the cheapest plan. The search counts its steps, so that it is the
// same whenever and wherever it runs.
func (w *search) cheapest() Plan {
	first, unwelcome := solve(w.run, w.best, w.rejected)
	if w.restart == nil || !mayHaveAlternatives(w.run.Problem) || !w.hasAlternatives(first) {
		return first
	}
	best := outcomeOf(first, unwelcome)
	initial := best
	mixes := place.Mixes(w.run)
	for k := range w.tries {
		w.last = variation(k, mixes)
		s := place.NewPlacer(w.restart(), w.last)
		if s.Stopped() {
			break
		}
		fill(s)
		if other := outcomeOn(s); other.cheaperThan(best) {
			best, w.best = other, w.last
		}
	}
	w.recreate(best)
	if w.best == (place.Strategy{}) {
		return first
	}
	w.last = w.best
	s := place.NewPlacer(w.restart(), w.best)
	unschedulable := diagnosed(s)
	plan := complete(s, first.Zones, append(unschedulable, w.rejected...))
	if !outcomeOf(plan, s.Unwelcome).cheaperThan(initial) { // minValues are judged for the whole plan only
		w.best = place.Strategy{}
		return first
	}
	return plan
}

// replay fills the run as the best strategy does.
func (w *search) replay() {
	if w.last == w.best {
		return
	}
	s := place.NewPlacer(w.restart(), w.best)
	fill(s)
	newPlan(s) // takes what is left of reservations
	w.last = w.best
}

// variation is the k-th strategy after the first. mixes is set where it matters that a strategy mixes pods.
func variation(k int, mixes bool) place.Strategy {
	first := []place.Strategy{
		{Fit: place.EmptiestFit},
		{Domains: place.LastName},
		{Fit: place.CheapestFit},
		{Fit: place.OwnFit},
		{Fit: place.FreeFit},
		{Fit: place.CheapestFit, Domains: place.LastName},
		{Single: true},
		{Decided: true},
	}
	if mixes {
		first = append(first, place.Strategy{Mixed: true})
	}
	if k < len(first) {
		return first[k]
	}
	if k -= len(first); k < maxFirst {
		return place.Strategy{Order: k + 1, Fit: []place.Fit{place.FirstFit, place.CheapestFit}[k%2]}
	}
	return place.Strategy{Order: -k, Fit: place.Fit(k % place.Fits), Domains: place.Permuted + place.DomainOrder(k), Mixed: mixes && k%2 == 1}
}

// hasAlternatives reports whether the problem may have a cheaper plan. Plans with one NodeClaim, which most what-ifs have, are left alone unless
// there is time for many strategies: then existing nodes, another zone, or two smaller nodes may still be cheaper.
func (w *search) hasAlternatives(plan Plan) bool {
	fewest := 1
	if w.tries <= whatIfTries {
		fewest = 2
	}
	return len(plan.NodeClaims) >= fewest && len(plan.Undecided)+len(plan.Deferred) == 0
}

// mayHaveAlternatives reports whether another strategy may lead to a cheaper plan that meets no fewer preferences.
func mayHaveAlternatives(p Problem) bool {
	o := p.Options
	if len(p.Pods) > maxAlternativePods || o.DisableRepacking || p.Devices != nil {
		return false
	}
	various := false
	for _, pod := range p.Pods {
		if o.Preferences != model.IgnorePreferences && pod.Shape.SoftConstraints() > 0 {
			return false
		}
		s := pod.Shape
		various = various || s != p.Pods[0].Shape || len(s.Spreads)+len(s.Affinities)+len(s.HostPorts) > 0
	}
	return various
}

// outcome is what counts of a plan.
type outcome struct {
	price      float64
	nodeClaims int
	// refused are the pods without a place, unwelcome those on nodes with a PreferNoSchedule taint that they do not tolerate, by UID.
	refused, unwelcome map[string]bool
	// open is set when some pods were not decided.
	open bool
}

func outcomeOf(p Plan, unwelcome []*model.Pod) outcome {
	o := outcome{price: p.Price(), nodeClaims: len(p.NodeClaims), refused: map[string]bool{}, unwelcome: uids(unwelcome), open: len(p.Undecided)+len(p.Deferred) > 0}
	for _, u := range p.Unschedulable {
		for _, pod := range u.Pods {
			o.refused[pod.UID] = true
		}
	}
	return o
}

// outcomeOn is the outcome of a run that is filled, before its plan is complete.
func outcomeOn(s *place.Placer) outcome {
	o := outcome{nodeClaims: len(s.Open), refused: map[string]bool{}, unwelcome: uids(s.Unwelcome), open: len(s.Undecided)+len(s.Deferred) > 0}
	for _, on := range s.Open {
		o.price += on.Price()
	}
	for _, r := range s.Unschedulable {
		for _, pod := range r.Pods {
			o.refused[pod.UID] = true
		}
	}
	return o
}

func uids(pods []*model.Pod) map[string]bool {
	out := make(map[string]bool, len(pods))
	for _, pod := range pods {
		out[pod.UID] = true
	}
	return out
}

// within reports whether a set is part of another one.
func within(set, other map[string]bool) bool {
	for uid := range set { // the order does not matter
		if !other[uid] {
			return false
		}
	}
	return true
}

// cheaperThan reports whether a plan costs less than another one, places all pods that the other plan places, and meets their preferences.
func (o outcome) cheaperThan(other outcome) bool {
	more := max(o.nodeClaims-other.nodeClaims, 0)
	if o.open || o.price >= other.price*(1-max(minNodeSaving*float64(more), rounding)) {
		return false
	}
	return within(o.refused, other.refused) && within(o.unwelcome, other.unwelcome)
}
