package compile

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/bitset"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

// Limits is the capacity that a pool may still add. Nodes opened in this run are charged with the maximum of their
// candidates, and the charge decreases as candidates drop out.
type Limits struct {
	List []Limit
}

// Limit is a NodePool's limit of one resource, in the unit of the vectors, with the rest that is available.
type Limit struct {
	Resource         int
	Total, Remaining int64
}

// nodesOfLimited groups the nodes of NodePools that have limits, once for all: to look for those of each takes time that grows with the product of
// nodes and NodePools.
func nodesOfLimited(pools []*model.Pool, nodes []*model.Node) map[string][]*model.Node {
	out := map[string][]*model.Node{}
	for _, pool := range pools {
		if len(pool.Limits) > 0 {
			out[pool.Name] = nil
		}
	}
	if len(out) == 0 {
		return nil
	}
	for _, n := range nodes {
		if list, limited := out[n.Pool]; limited {
			out[n.Pool] = append(list, n)
		}
	}
	return out
}

// newLimits returns the limits of a NodePool that has these nodes.
func newLimits(pool *model.Pool, nodes []*model.Node) *Limits {
	l := &Limits{}
	for r, total := range pool.Limits {
		l.List = append(l.List, Limit{r, total, pool.Remaining(r, nodes)})
	}
	slices.SortFunc(l.List, func(a, b Limit) int { return a.Resource - b.Resource })
	return l
}

// Unlimited reports whether the NodePool has no limits.
func (l *Limits) Unlimited() bool { return len(l.List) == 0 }

// Exhausted reports whether no further node is allowed, whatever its size.
func (l *Limits) Exhausted() bool {
	return slices.ContainsFunc(l.List, func(b Limit) bool { return b.Resource == resource.Nodes && b.Remaining == 0 })
}

// admits reports whether a node of this capacity stays within every limit.
func (l *Limits) admits(capacity resource.Vector) bool {
	for _, b := range l.List {
		if model.AmountOf(capacity, b.Resource) > b.Remaining {
			return false
		}
	}
	return true
}

// larger reports whether capacity takes more of a limited resource than other does.
func (l *Limits) larger(capacity, other resource.Vector) bool {
	return slices.ContainsFunc(l.List, func(b Limit) bool {
		return model.AmountOf(capacity, b.Resource) > model.AmountOf(other, b.Resource)
	})
}

// share is the largest part of any limit that a node of this capacity takes.
func (l *Limits) share(capacity resource.Vector) float64 {
	most := 0.0
	for _, b := range l.List {
		most = max(most, float64(model.AmountOf(capacity, b.Resource))/float64(max(b.Total, 1)))
	}
	return most
}

// Capacity is the full capacity of a column's instance type.
func (t *Template) Capacity(column int) resource.Vector {
	return t.Columns.Types[t.Columns.Owner[column]].Capacity
}

// Within is the columns of mask that the limits admit.
func (t *Template) Within(mask bitset.Set) bitset.Set {
	if t.Limits.Unlimited() {
		return mask
	}
	out := bitset.New(t.Columns.Len())
	for column := range mask.All() {
		if t.Limits.admits(t.Capacity(column)) {
			out.Add(column)
		}
	}
	return out
}

// Charge replaces the charge of on by the maximum of its present candidates.
func (l *Limits) Charge(on *OpenNode) {
	if l.Unlimited() {
		return
	}
	worst := make([]int64, len(l.List))
	for column := range on.Mask.All() {
		capacity := on.Template.Capacity(column)
		for i, b := range l.List {
			worst[i] = max(worst[i], model.AmountOf(capacity, b.Resource))
		}
	}
	l.Release(on)
	for i := range l.List {
		l.List[i].Remaining = resource.SubSaturated(l.List[i].Remaining, worst[i])
	}
	on.charged = worst
}

// Release removes the charge of on.
func (l *Limits) Release(on *OpenNode) {
	for i, amount := range on.charged {
		l.List[i].Remaining = resource.AddSaturated(l.List[i].Remaining, amount)
	}
	on.charged = nil
}
