package compile

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

// Overfull is how many pods of the run could not be bound once all others are: a required spread of theirs has too many pods in their domain.
// The others have to be bound after them.
func (r *Run) Overfull() (pods int) {
	for i, t := range r.Targets.List {
		for _, pod := range t.Pods {
			if r.Counts.overfull(r.ExistingBin(i), r.Classes.Of(pod)) {
				pods++
			}
		}
	}
	for i, on := range r.Open {
		for _, batch := range on.Batches {
			if r.Counts.overfull(r.OpenBin(i, on), batch.Class()) {
				pods += len(batch.Pods)
			}
		}
	}
	return pods
}

func (ct *Counts) overfull(b Bin, c *Class) bool {
	return slices.ContainsFunc(c.Owns.Part(PartRequired), func(g *Group) bool {
		switch {
		case g.Kind != topology.KindSpread:
			return false
		case g.Host:
			return g.AllowedOnHost(b.Host, g.HostFloor, false) == 0
		}
		domains, decided := ct.possible(b, g.Key)
		return decided && g.Allowed(domains[0], g.MinCount(), false) == 0
	})
}
