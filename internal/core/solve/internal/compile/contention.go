package compile

import (
	"cmp"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

// Problem: of DaemonSets that a node cannot hold together, those run whose pods arrive first. A pod for which a node is launched has to fit
// beside them, whichever these are; otherwise it stays pending, and another node is launched. With three of them, the two that are expected
// last may be larger together than the one that is expected first.
//
// Approach: what the combinations that a node can hold request is added up one DaemonSet after the other. The most of each resource counts.
//
// Cost: O(maxCombinations) for each DaemonSet and column, only where DaemonSets contend. Beyond maxCombinations, further ones are left out: a tenant
// may create many DaemonSets.

// maxCombinations is how many combinations are considered, which five DaemonSets can have.
const maxCombinations = 32

// mostTogether is the most of each resource that some of the daemons may take of a node together, those of base always included. Daemons that use
// the same host port are not on a node together.
func mostTogether(capacity, base resource.Vector, daemons []*Class) resource.Vector {
	type combination struct {
		requests resource.Vector
		daemons  []*Class
	}
	known, most := []combination{{requests: base}}, base
	for _, d := range daemons {
		for _, c := range slices.Clip(known) {
			if len(known) == maxCombinations {
				return most
			}
			if slices.ContainsFunc(c.daemons, d.sharesPort) {
				continue
			}
			if with := c.requests.Add(d.Shape.Requests); with.Fits(capacity) {
				known = append(known, combination{with, append(slices.Clip(c.daemons), d)})
				most = most.Max(with)
			}
		}
	}
	return most
}

// reserveContention makes the capacity sufficient for those daemons of each column that may run together, where some are possible only in place
// of others. Those of a priority above all possible ones run in any case.
func (nc *NodeCapacity) reserveContention(daemons []templateDaemon, possible []possibleDaemon) {
	for column := range nc.Daemons {
		var contending []*Class
		highest := int32(0)
		for _, r := range possible {
			if r.overhead[column] != nil {
				if len(contending) == 0 || r.Shape.Priority > highest {
					highest = r.Shape.Priority
				}
				contending = append(contending, r.Class)
			}
		}
		if len(contending) == 0 {
			continue
		}
		var base resource.Vector
		for _, d := range daemons {
			switch {
			case !d.columns.Has(column):
			case d.Shape.Priority > highest:
				base = base.Add(d.Shape.Requests)
			default:
				contending = append(contending, d.Class)
			}
		}
		slices.SortStableFunc(contending, func(a, b *Class) int { return cmp.Compare(b.Shape.Priority, a.Shape.Priority) })
		allocatable := nc.columns.Allocatable(column)
		nc.Daemons[column] = nc.Daemons[column].Max(mostTogether(allocatable, base, contending))
		nc.Available[column] = available(allocatable, nc.Daemons[column])
	}
}
