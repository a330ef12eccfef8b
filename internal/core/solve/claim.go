package solve

import (
	"math"
	"sort"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

// claim is a machine to be asked for that is still being filled.
type claim struct {
	t     *template
	state stateID
	// mask is the columns that can still hold everything put in.
	mask bitset
	// total is what the pods ask for, without daemons.
	total resource.Vector
	// slack is an upper bound on what any candidate has left, by resource.
	slack resource.Vector
	fills []fill
	// ports are those that its pods claim.
	ports []model.HostPort
	// charged is what the pool's limits were reduced by for this claim.
	charged []int64
}

// fill is pods of one class put into a claim in one go, in the form of their question that the claim accepted.
type fill struct {
	class *class
	stage *stage
	form  *conjunction
	pods  []*model.Pod
}

// open is an empty claim limited to the columns in mask.
func (t *template) open(mask bitset) *claim { return t.openIn(t.root, mask) }

// openIn is an empty claim in a state, limited to the columns in mask.
func (t *template) openIn(state stateID, mask bitset) *claim {
	cl := &claim{t: t, state: state, mask: mask}
	cl.measure()
	return cl
}

// measure recomputes slack.
func (cl *claim) measure() {
	cl.slack = cl.slack[:0]
	for column := range cl.mask.all() {
		room := cl.t.room[column]
		for r, amount := range room {
			for r >= len(cl.slack) {
				cl.slack = append(cl.slack, math.MinInt64)
			}
			cl.slack[r] = max(cl.slack[r], amount-cl.total.At(r))
		}
	}
}

// offer is what a claim would become by taking pods of a class.
type offer struct {
	form  *conjunction
	state stateID
	mask  bitset
	pods  int
}

// considerAny is the offer for the first of the forms that the claim accepts.
func (cl *claim) considerAny(c *class, forms []*conjunction, n int) offer {
	for _, form := range forms {
		if o := cl.consider(c, form, n); o.pods > 0 {
			return o
		}
	}
	return offer{}
}

// consider works out how many of n pods of the class the claim can take, without taking them.
func (cl *claim) consider(c *class, form *conjunction, n int) offer {
	for _, need := range c.needs {
		if cl.slack.At(need.resource) < need.amount {
			return offer{}
		}
	}
	if _, taken := model.Clash(c.shape.HostPorts, cl.ports); taken {
		return offer{}
	}
	to := cl.t.step(cl.state, form)
	if to == refused {
		return offer{}
	}
	n = c.most(n)
	next := cl.t.states[to]
	candidates := cl.mask.and(next.mask)
	if len(c.shape.HostPorts) > 0 {
		candidates = candidates.and(cl.t.portsFree(c))
	}
	counts, best := cl.counts(c, candidates, n)
	if best == 0 {
		return offer{}
	}
	if len(next.minimums) == 0 {
		return offer{form, to, pick(candidates, counts, best), best}
	}
	// Fewer pods leave more candidates, so the largest number that keeps enough distinct values is found by bisection.
	spare := sort.Search(best, func(spare int) bool {
		return len(cl.t.unmet(next, pick(candidates, counts, best-spare))) == 0
	})
	if spare == best {
		return offer{}
	}
	return offer{form, to, pick(candidates, counts, best-spare), best - spare}
}

// counts is how many of n pods each candidate could take, by column, and the most of them. The slice is the template's and
// valid until the next call.
func (cl *claim) counts(c *class, candidates bitset, n int) (counts []int, most int) {
	counts = cl.t.scratch
	for column := range candidates.all() {
		counts[column] = c.count(cl.t.room[column], cl.total, n)
		most = max(most, counts[column])
	}
	return counts, most
}

// pick is the candidates that can take at least n pods.
func pick(candidates bitset, counts []int, n int) bitset {
	out := make(bitset, len(candidates))
	for column := range candidates.all() {
		if counts[column] >= n {
			out.set(column)
		}
	}
	return out
}

// put takes the pods of an accepted offer into the claim.
func (cl *claim) put(c *class, st *stage, o offer, pods []*model.Pod) {
	cl.state, cl.mask = o.state, o.mask
	for r, amount := range c.shape.Requests {
		cl.total = cl.total.Set(r, cl.total.At(r)+resource.MulSaturated(amount, int64(len(pods))))
	}
	cl.fills = append(cl.fills, fill{c, st, o.form, pods})
	cl.ports = append(cl.ports, c.shape.HostPorts...)
	cl.measure()
}

// repels reports whether a taint of the pool keeps the class away.
func (t *template) repels(c *class, st *stage) (model.Taint, bool) {
	return model.Untolerated(t.pool.Taints, c.shape.Tolerations, st.tolerant)
}

// pods are all pods of the claim in the order they were put in.
func (cl *claim) pods() []*model.Pod {
	var out []*model.Pod
	for _, f := range cl.fills {
		out = append(out, f.pods...)
	}
	return out
}
