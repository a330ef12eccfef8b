package solve

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/bitset"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

// limits is what a pool may still add. Claims opened in this run are charged with the most that any of their candidates
// would add, and the charge shrinks as candidates drop out.
type limits struct {
	list []limit
}

type limit struct {
	resource         int
	total, remaining int64
}

func newLimits(pool *model.Pool, nodes []*model.Node) *limits {
	l := &limits{}
	for r, total := range pool.Limits {
		remaining := total
		for _, n := range nodes {
			if n.Pool == pool.Name {
				remaining -= amountOf(n.Capacity, r)
			}
		}
		l.list = append(l.list, limit{r, total, remaining})
	}
	slices.SortFunc(l.list, func(a, b limit) int { return a.resource - b.resource })
	return l
}

// amountOf is the capacity entry that a limit on r looks at; a machine always counts as one node.
func amountOf(capacity resource.Vector, r int) int64 {
	if r == resource.Nodes {
		return 1
	}
	return capacity.At(r)
}

func (l *limits) unlimited() bool { return len(l.list) == 0 }

// exhausted reports whether no further node is allowed, whatever its size.
func (l *limits) exhausted() bool {
	return slices.ContainsFunc(l.list, func(b limit) bool { return b.resource == resource.Nodes && b.remaining == 0 })
}

// admits reports whether a machine of this capacity stays within every limit.
func (l *limits) admits(capacity resource.Vector) bool {
	for _, b := range l.list {
		if amountOf(capacity, b.resource) > b.remaining {
			return false
		}
	}
	return true
}

// larger reports whether capacity takes more of a limited resource than other does.
func (l *limits) larger(capacity, other resource.Vector) bool {
	return slices.ContainsFunc(l.list, func(b limit) bool {
		return amountOf(capacity, b.resource) > amountOf(other, b.resource)
	})
}

// share is how much of a limit a machine of this capacity takes, of that of which it takes most.
func (l *limits) share(capacity resource.Vector) float64 {
	most := 0.0
	for _, b := range l.list {
		most = max(most, float64(amountOf(capacity, b.resource))/float64(max(b.total, 1)))
	}
	return most
}

// capacity is the full size of a column's machine.
func (t *template) capacity(column int) resource.Vector {
	return t.columns.types[t.columns.owner[column]].Capacity
}

// within is the columns of mask that the limits admit.
func (t *template) within(mask bitset.Set) bitset.Set {
	if t.limits.unlimited() {
		return mask
	}
	out := bitset.New(t.columns.len())
	for column := range mask.All() {
		if t.limits.admits(t.capacity(column)) {
			out.Add(column)
		}
	}
	return out
}

// charge replaces what on is charged with by the most that its present candidates would add.
func (l *limits) charge(on *openNode) {
	if l.unlimited() {
		return
	}
	worst := make([]int64, len(l.list))
	for column := range on.mask.All() {
		capacity := on.t.capacity(column)
		for i, b := range l.list {
			worst[i] = max(worst[i], amountOf(capacity, b.resource))
		}
	}
	l.release(on)
	for i := range l.list {
		l.list[i].remaining -= worst[i]
	}
	on.charged = worst
}

// release takes back what on is charged with.
func (l *limits) release(on *openNode) {
	for i, amount := range on.charged {
		l.list[i].remaining += amount
	}
	on.charged = nil
}
