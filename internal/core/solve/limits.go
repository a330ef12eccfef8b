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
	bounds []bound
}

type bound struct {
	resource         int
	limit, remaining int64
}

func newLimits(pool *model.Pool, nodes []*model.Node) *limits {
	l := &limits{}
	for r, limit := range pool.Limits {
		remaining := limit
		for _, n := range nodes {
			if n.Pool == pool.Name {
				remaining -= amountOf(n.Capacity, r)
			}
		}
		l.bounds = append(l.bounds, bound{r, limit, remaining})
	}
	slices.SortFunc(l.bounds, func(a, b bound) int { return a.resource - b.resource })
	return l
}

// amountOf is the capacity entry that a limit on r looks at; a machine always counts as one node.
func amountOf(capacity resource.Vector, r int) int64 {
	if r == resource.Nodes {
		return 1
	}
	return capacity.At(r)
}

func (l *limits) unlimited() bool { return len(l.bounds) == 0 }

// exhausted reports whether no further node is allowed, whatever its size.
func (l *limits) exhausted() bool {
	return slices.ContainsFunc(l.bounds, func(b bound) bool { return b.resource == resource.Nodes && b.remaining == 0 })
}

// admits reports whether a machine of this capacity stays within every limit.
func (l *limits) admits(capacity resource.Vector) bool {
	for _, b := range l.bounds {
		if amountOf(capacity, b.resource) > b.remaining {
			return false
		}
	}
	return true
}

// larger reports whether capacity takes more of a limited resource than other does.
func (l *limits) larger(capacity, other resource.Vector) bool {
	return slices.ContainsFunc(l.bounds, func(b bound) bool {
		return amountOf(capacity, b.resource) > amountOf(other, b.resource)
	})
}

// share is how much of a limit a machine of this capacity takes, of that of which it takes most.
func (l *limits) share(capacity resource.Vector) float64 {
	most := 0.0
	for _, b := range l.bounds {
		most = max(most, float64(amountOf(capacity, b.resource))/float64(max(b.limit, 1)))
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

// charge replaces what cl is charged with by the most that its present candidates would add.
func (l *limits) charge(cl *claim) {
	if l.unlimited() {
		return
	}
	worst := make([]int64, len(l.bounds))
	for column := range cl.mask.All() {
		capacity := cl.t.capacity(column)
		for i, b := range l.bounds {
			worst[i] = max(worst[i], amountOf(capacity, b.resource))
		}
	}
	l.release(cl)
	for i := range l.bounds {
		l.bounds[i].remaining -= worst[i]
	}
	cl.charged = worst
}

// release takes back what cl is charged with.
func (l *limits) release(cl *claim) {
	for i, amount := range cl.charged {
		l.bounds[i].remaining += amount
	}
	cl.charged = nil
}
