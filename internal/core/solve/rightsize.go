package solve

import (
	"cmp"
	"math"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

const (
	// splitCaps is how many price caps are tried per claim.
	splitCaps = 8
	// worthwhile is the part of a claim's price that every further machine of a split has to save, up to mostWorthwhile in
	// all: more nodes are more things that can go wrong.
	worthwhile     = 0.01
	mostWorthwhile = 0.5
	// maxPieces bounds how many machines one claim may be split into, and with it how small a machine is worth a look: a
	// fleet of the tiniest machines is cheap on paper only.
	maxPieces = 256
)

// rightSize splits claims whose pods are cheaper on several machines.
//
// Problem: first fit fills a claim as long as any type can hold it, so a claim may end on the dearest machine there is, and
// pods that could run anywhere may end on a machine that only one of them needs. Approach: pack the pods of each claim
// again in a few ways (machines below a price cap, for the caps that carry the claim's mix of resources most cheaply; pods
// with different demands apart) and keep the cheapest outcome if it saves enough. Invariant: the plan never gets dearer and
// no pod loses its place. Cost: splitCaps repackings per claim and per demand in it.
func (s *solver) rightSize() {
	var out []*claim
	for _, cl := range s.claims {
		if cl.indivisible() {
			out = append(out, cl)
			continue
		}
		base := s.base(cl)
		if base == refused {
			out = append(out, cl)
			continue
		}
		if cl.devices != "" {
			out = append(out, s.splitDevices(cl, base)...)
			continue
		}
		out = append(out, cl.split(base)...)
	}
	s.claims = out
}

// indivisible reports whether cl is to stay as it is: it may be launched from a reservation, or some of its pods must share a
// machine with others.
func (cl *claim) indivisible() bool {
	return cl.t.reservations.concern(cl) || slices.ContainsFunc(cl.fills, func(f fill) bool { return f.stage.near || cl.t.attaches(f.class) })
}

// base is the state that every piece of cl starts from: in the domains in which its pods were counted.
func (s *solver) base(cl *claim) stateID {
	var within []requirement.Requirement
	seen := map[int]bool{}
	for _, f := range cl.fills {
		for _, list := range [][]*group{f.class.members, f.class.guards} {
			for _, g := range list {
				if g.host || seen[g.key] {
					continue
				}
				seen[g.key] = true
				var names []string
				for _, d := range s.claimDomains(cl, g.key) {
					names = append(names, s.domains.of(g.key).names[d])
				}
				within = append(within, requirement.New(cl.t.u.keys[g.key].name, requirement.In, names...))
			}
		}
	}
	if len(within) == 0 {
		return cl.t.root
	}
	return cl.t.step(cl.t.root, s.classes.intern(requirement.NewSet(within...)))
}

// split is the cheapest way found to run the pods of cl, which is cl itself if nothing saves enough.
func (cl *claim) split(base stateID) []*claim {
	whole := cl.price()
	best := cl.capped(whole, base)
	var apart []*claim
	for _, part := range cl.byDemand(base) {
		apart = append(apart, part.capped(whole, base)...)
	}
	if len(apart) > 1 && burden(apart, whole) < burden(best, whole) {
		best = apart
	}
	if len(best) == 1 {
		return []*claim{cl}
	}
	limits := cl.t.limits
	if !limits.unlimited() {
		for _, piece := range best {
			piece.cheapestOnly()
		}
		if !cl.affordable(best) {
			return []*claim{cl}
		}
	}
	limits.release(cl)
	for _, piece := range best {
		limits.charge(piece)
	}
	for _, piece := range best {
		limits.release(piece)
		piece.widen()
		limits.charge(piece)
	}
	return best
}

func price(claims []*claim) float64 {
	sum := 0.0
	for _, cl := range claims {
		sum += cl.price()
	}
	return sum
}

// burden is what a way to run the pods of a claim costs, with what its number of machines is held to cost. whole is the
// price of the claim in one piece.
func burden(claims []*claim, whole float64) float64 {
	return price(claims) + surcharge(len(claims), whole)
}

// surcharge is what n machines in place of one are held to cost.
func surcharge(n int, whole float64) float64 {
	return whole * min(worthwhile*float64(n-1), mostWorthwhile)
}

// capped is the least burden of cl and its repackings into machines below a price cap. It stops as soon as no packing
// whatsoever can be better than the best one so far.
func (cl *claim) capped(whole float64, base stateID) []*claim {
	best, least := []*claim{cl}, cl.floor(base, whole)
	lowest := burden(best, whole)
	if least >= lowest {
		return best
	}
	for _, limit := range cl.caps() {
		pieces := cl.repack(limit, base, quota{whole, lowest})
		if pieces == nil {
			continue
		}
		if b := burden(pieces, whole); b < lowest {
			best, lowest = pieces, b
		} else {
			cl.t.recycle(pieces)
		}
		if least >= lowest {
			break
		}
	}
	return best
}

// byDemand is one claim for every different demand on labels among the pods of cl, or nothing if all demand the same.
func (cl *claim) byDemand(base stateID) []*claim {
	parts := map[*conjunction]*claim{}
	var out []*claim
	for _, f := range cl.fills {
		part, ok := parts[f.form]
		if !ok {
			part = cl.t.openIn(base, cl.t.states[base].mask)
			parts[f.form] = part
			out = append(out, part)
		}
		o := part.consider(f.class, f.form, len(f.pods))
		if o.pods < len(f.pods) {
			return nil
		}
		part.put(f.class, f.stage, o, f.pods)
	}
	if len(out) == 1 {
		return nil
	}
	return out
}

// cheapestOnly keeps the candidates at the lowest price.
func (cl *claim) cheapestOnly() {
	low, prices := cl.price(), cl.t.prices(cl.t.states[cl.state])
	mask := newBitset(cl.t.columns.len())
	for column := range cl.mask.all() {
		if prices[column] <= low {
			mask.set(column)
		}
	}
	cl.mask = mask
	cl.measure()
}

// widen lets a piece be any machine that can hold its pods and that the pool's limits admit: the cap has done its work, and
// more candidates make the launch more likely.
func (cl *claim) widen() {
	mask := newBitset(cl.t.columns.len())
	for column := range cl.t.within(cl.t.states[cl.state].mask).all() {
		if cl.total.Fits(cl.t.room[column]) {
			mask.set(column)
		}
	}
	for _, f := range cl.fills {
		if len(f.class.shape.HostPorts) > 0 {
			mask = mask.and(cl.t.portsFree(f.class))
		}
	}
	cl.mask, cl.trial = mask, false
	cl.measure()
}

// caps are prices worth trying as the most one machine may cost: those of the columns that carry the claim's mix of
// resources most cheaply.
func (cl *claim) caps() []float64 {
	t, st := cl.t, cl.t.states[cl.state]
	type option struct{ rate, price float64 }
	var options []option
	whole, prices := cl.price(), t.prices(st)
	for column := range st.mask.all() {
		price := prices[column]
		if share := carries(t.room[column], cl.total); share*maxPieces >= 1 && price < whole {
			options = append(options, option{price / share, price})
		}
	}
	slices.SortFunc(options, func(a, b option) int { return cmp.Or(cmp.Compare(a.rate, b.rate), cmp.Compare(b.price, a.price)) })
	var caps []float64
	for _, o := range options {
		if !slices.Contains(caps, o.price) {
			caps = append(caps, o.price)
		}
		if len(caps) == splitCaps {
			break
		}
	}
	return caps
}

// carries is which part of total fits into room, at most 1.
func carries(room, total resource.Vector) float64 {
	share := 1.0
	for r, amount := range total {
		if amount > 0 {
			share = min(share, float64(room.At(r))/float64(amount))
		}
	}
	return share
}

// repack packs the pods of cl into machines that cost at most limit each, or gives up with nil. A packing that cannot stay
// below the quota is given up half-way.
func (cl *claim) repack(limit float64, base stateID, q quota) []*claim {
	t := cl.t
	cheap := newBitset(t.columns.len())
	prices := t.prices(t.states[t.root])
	for column := range t.states[cl.state].mask.all() {
		if prices[column] <= limit {
			cheap.set(column)
		}
	}
	var pieces []*claim
	// first is what every piece has at the start, and least what each costs at least.
	var first resource.Vector
	sum, least := 0.0, math.Inf(1)
	for column := range cheap.all() {
		least = min(least, prices[column])
	}
	for _, f := range cl.fills {
		pods := f.pods
		for i := 0; len(pods) > 0; i++ {
			if i == maxPieces {
				t.recycle(pieces)
				return nil
			}
			if i == len(pieces) {
				// Pieces only get dearer, so what those so far cost now is the least that they will.
				if i > 0 {
					sum += pieces[i-1].price()
				}
				if q.exceeded(sum+least, i+1) {
					t.recycle(pieces)
					return nil
				}
				piece := t.blank(base, cheap)
				if first == nil {
					piece.measure()
					first = piece.slack.Clone()
				}
				piece.trial, piece.slack = true, append(piece.slack[:0], first...)
				pieces = append(pieces, piece)
			}
			o := pieces[i].consider(f.class, f.form, len(pods))
			switch {
			case o.pods > 0:
				pieces[i].put(f.class, f.stage, o, pods[:o.pods])
				pods = pods[o.pods:]
			case len(pieces[i].fills) == 0:
				t.recycle(pieces)
				return nil
			}
		}
	}
	return pieces
}

// affordable reports whether the pieces stay within what the pool's limits were charged for the whole.
func (cl *claim) affordable(pieces []*claim) bool {
	l := cl.t.limits
	if l.unlimited() {
		return true
	}
	for i, b := range l.bounds {
		sum := int64(0)
		for _, piece := range pieces {
			worst := int64(0)
			for column := range piece.mask.all() {
				worst = max(worst, amountOf(cl.t.columns.types[cl.t.columns.owner[column]].Capacity, b.resource))
			}
			sum += worst
		}
		if sum > cl.charged[i]+max(b.remaining, 0) {
			return false
		}
	}
	return true
}
