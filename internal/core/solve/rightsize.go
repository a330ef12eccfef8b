package solve

import (
	"cmp"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

const (
	// splitCaps is how many price caps are tried per claim.
	splitCaps = 8
	// worthwhile is the part of a claim's price that a split has to save: more nodes are more things that can go wrong.
	worthwhile = 0.01
	// maxPieces bounds how many machines one claim may be split into, and with it how small a machine is worth a look: a
	// fleet of the tiniest machines is cheap on paper only.
	maxPieces = 256
)

// rightSize splits claims whose pods are cheaper on several smaller machines.
//
// Problem: first fit fills a claim as long as any type can hold it, so a claim may end on the dearest machine there is.
// Approach: for each claim, take the columns with the best price per pod-equivalent as caps, pack its pods again first-fit
// using only columns that cost no more than the cap, and keep the cheapest outcome if it saves enough. Invariant: the
// plan never gets dearer and no pod loses its place. Cost: splitCaps repackings per claim.
func (s *solver) rightSize() {
	var out []*claim
	for _, cl := range s.claims {
		out = append(out, s.split(cl)...)
	}
	s.claims = out
}

func (s *solver) split(cl *claim) []*claim {
	price := cl.price()
	best, bestPrice := []*claim{cl}, price*(1-worthwhile)
	for _, limit := range cl.caps() {
		pieces := cl.repack(limit)
		if pieces == nil {
			continue
		}
		total := 0.0
		for _, piece := range pieces {
			total += piece.price()
		}
		if total < bestPrice && cl.affordable(pieces) {
			best, bestPrice = pieces, total
		}
	}
	if len(best) > 1 {
		cl.t.limits.release(cl)
		for _, piece := range best {
			piece.widen()
			cl.t.limits.charge(piece)
		}
	}
	return best
}

// widen lets a piece be any machine again that can hold its pods: the cap has done its work, and more candidates make the
// launch more likely. Under limits the instance types stay as they were charged, in whatever way they are offered.
func (cl *claim) widen() {
	charged := map[int]bool{}
	for column := range cl.mask.all() {
		charged[cl.t.columns.owner[column]] = true
	}
	mask := newBitset(cl.t.columns.len())
	for column := range cl.t.states[cl.state].mask.all() {
		within := cl.t.limits.unlimited() || charged[cl.t.columns.owner[column]]
		if within && cl.total.Fits(cl.t.room[column]) {
			mask.set(column)
		}
	}
	cl.mask = mask
	cl.measure()
}

// caps are prices worth trying as the most one machine may cost: those of the columns that carry the claim's mix of
// resources most cheaply.
func (cl *claim) caps() []float64 {
	t, st := cl.t, cl.t.states[cl.state]
	type option struct{ rate, price float64 }
	var options []option
	whole := cl.price()
	for column := range st.mask.all() {
		price := t.columns.cheapest(column, st.kinds)
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

// repack packs the pods of cl into machines that cost at most limit each, or gives up with nil.
func (cl *claim) repack(limit float64) []*claim {
	t := cl.t
	cheap := newBitset(t.columns.len())
	root := t.states[t.root]
	for column := range t.states[cl.state].mask.all() {
		if t.columns.cheapest(column, root.kinds) <= limit {
			cheap.set(column)
		}
	}
	var pieces []*claim
	for _, f := range cl.fills {
		pods := f.pods
		for i := 0; len(pods) > 0; i++ {
			if i == maxPieces {
				return nil
			}
			if i == len(pieces) {
				pieces = append(pieces, t.open(cheap))
			}
			o := pieces[i].consider(f.class, f.stage, len(pods))
			switch {
			case o.pods > 0:
				pieces[i].put(f.class, f.stage, o, pods[:o.pods])
				pods = pods[o.pods:]
			case len(pieces[i].fills) == 0:
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
