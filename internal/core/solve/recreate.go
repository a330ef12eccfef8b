package solve

import (
	"cmp"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/place"
)

// Problem: a pod that is placed early may open a node, while nodes that others open later have capacity for it. No order of whole classes helps
// where other pods of its class have to stay early: they use the capacity of existing nodes, or spreads count them before others are placed.
// Approach: ruin and recreate. The pods of one open node of the cheapest plan come after all others, the cheapest nodes first.
// Invariant: no more pods depend on the order in which kube-scheduler binds them. Cost: a strategy for each of these nodes, which are few
// beside the strategies before, and one for the plan to start with; none for problems with so many pods that few strategies are tried.
// Source: Schrimpf et al., Record Breaking Optimization Results Using the Ruin and Recreate Principle, 2000.

// triesPerRecreated is for how many strategies one open node is tried: the more pods there are, the more each costs.
const triesPerRecreated = 8

// recreate looks for a plan that is cheaper than the best one, and makes its strategy the best. It is not for what-ifs, which are replayed.
func (w *search) recreate(best outcome) {
	limit := w.tries / triesPerRecreated
	if limit == 0 || best.nodeClaims < 2 {
		return
	}
	if !place.AnyLast(place.NewPlacer(w.restart(), w.best)) {
		return
	}
	s, overfull := w.refill(w.best)
	nodes := evacuable(s)
	for _, pods := range nodes[:min(len(nodes), limit)] {
		strategy := w.best
		strategy.Last = &pods
		s, more := w.refill(strategy)
		if s.Stopped() {
			return
		}
		if more <= overfull && outcomeOn(s).cheaperThan(best) {
			w.best = strategy
			return
		}
	}
}

// refill fills the run as a strategy does. It also returns how many pods depend on the order of binding.
func (w *search) refill(strategy place.Strategy) (s *place.Placer, overfull int) {
	w.last = strategy
	s = place.NewPlacer(w.restart(), strategy)
	fill(s)
	place.Reopen(s) // counts pods by host where repacking has put them
	return s, s.Overfull()
}

// evacuable are the pods of each open node whose pods might fit on others, by the price of the node.
func evacuable(s *place.Placer) (out []place.PodSet) {
	list := slices.SortedStableFunc(slices.Values(s.Open), func(a, b *compile.OpenNode) int { return cmp.Compare(a.Price(), b.Price()) })
	for _, on := range list {
		fits := func(batch compile.Batch) bool {
			return slices.ContainsFunc(s.Open, func(o *compile.OpenNode) bool { return o != on && batch.Class().MayFit(o.Slack) })
		}
		if slices.ContainsFunc(on.Batches, func(batch compile.Batch) bool { return !fits(batch) }) {
			continue
		}
		pods := place.PodSet{}
		for _, pod := range on.Pods() {
			pods[pod.UID] = true
		}
		out = append(out, pods)
	}
	return out
}
