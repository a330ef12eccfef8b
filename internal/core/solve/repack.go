package solve

import (
	"cmp"
	"math"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/lp"
)

const (
	// attempts bounds how often a yard is packed, and effort how many machines are filled in doing so: small plans gain the
	// most from another try, and cost the least.
	attempts = 5
	effort   = 100
	// simple is how many piles a yard has at most that is packed once more by what goes into columns.
	simple = 32
	// reappraise is the part of the pods after which room is appraised again.
	reappraise = 0.1
	// damping is how far markups follow what pods turned out to cost.
	damping = 0.5
)

// laden is a machine that was filled, and with what.
type laden struct {
	*claim
	picks []pick
}

// pack is claims that hold all pods of the yard; nil if it finds no way.
//
// Pods that ended on machines with much waste are dearer than their room: in the next attempt they are worth more, so that
// they are taken along earlier, while there are others to go with them. Before all that, where few kinds of pods go together, columns
// are compared by what these really fill of them: it suits large pods, and may use up the small ones that others need. The
// cheapest attempt counts.
func (y *yard) pack() []*claim {
	y.measure()
	y.appraise()
	y.upkeep = math.Inf(1)
	for _, s := range y.shops {
		y.upkeep = min(y.upkeep, s.upkeep)
	}
	p := y.begin()
	if y.weighable() {
		y.load.weighs = true
		p.attempt()
		y.load.weighs, y.load.last.times = false, 0
		y.appraise()
	}
	filled := 0
	for range attempts {
		machines := p.attempt()
		if filled += len(machines); machines == nil || len(y.piles) == 1 || filled+len(machines) > effort {
			break
		}
		y.learn(machines)
		y.appraise()
	}
	return p.best
}

// repacking is what the attempts at a yard have come to.
type repacking struct {
	*yard
	// order is the piles as they came, full what was in them.
	order []*pile
	full  []stock
	// best are the claims of the cheapest attempt so far, least is their burden.
	best  []*claim
	least float64
}

// begin makes the yard ready to be packed again and again.
func (y *yard) begin() repacking {
	p := repacking{yard: y, order: slices.Clone(y.piles), full: make([]stock, len(y.piles)), least: math.Inf(1)}
	for i, pile := range p.order {
		p.full[i] = pile.stock
		pile.stacks = slices.Clone(pile.stacks)
	}
	return p
}

// attempt packs everything once and fills the piles again. It returns nil if there is no way.
func (p *repacking) attempt() []laden {
	machines := p.packOnce()
	for i, pile := range p.order {
		pile.stacks, pile.pods = append(pile.stacks[:0], p.full[i].stacks...), p.full[i].pods
	}
	if machines == nil {
		return nil
	}
	claims := make([]*claim, len(machines))
	for i, m := range machines {
		claims[i] = m.claim
	}
	if b := p.burden(claims); b < p.least {
		p.t.recycle(p.best)
		p.best, p.least = claims, b
	} else {
		p.t.recycle(claims)
	}
	return machines
}

// weighable reports whether there are kinds of pods that few others go together with, and not so many that another attempt takes
// long.
func (y *yard) weighable() bool {
	return len(y.piles) <= simple && slices.ContainsFunc(y.piles, func(p *pile) bool { return !p.lone && len(p.kin.piles) <= weighed })
}

// burden is what claims cost, with the upkeep of their machines.
func (y *yard) burden(claims []*claim) float64 {
	return price(claims) + y.upkeep*float64(len(claims))
}

// packOnce packs everything once, and leaves the piles empty. It returns nil if there is no way.
func (y *yard) packOnce() []laden {
	slices.SortStableFunc(y.piles, func(a, b *pile) int {
		if a.lone != b.lone {
			if a.lone {
				return -1
			}
			return 1
		}
		if a.lone || a.kin == b.kin {
			return cmp.Compare(b.worth, a.worth)
		}
		return cmp.Or(cmp.Compare(a.kin.choice, b.kin.choice), cmp.Compare(a.kin.form.number, b.kin.form.number))
	})
	left := 0
	for _, p := range y.piles {
		left += p.pods
	}
	var out []laden
	due := int(float64(left) * (1 - reappraise))
	for _, lead := range y.piles {
		for lead.pods > 0 {
			if left < due {
				y.appraise()
				due = int(float64(left) * (1 - reappraise))
			}
			m := y.open(lead)
			if m.claim == nil {
				return nil
			}
			for _, p := range m.picks {
				left -= p.n
			}
			out = append(out, m)
		}
	}
	return y.joinNeighbours(out)
}

// learn compares what pods cost on their machines with what their room is worth.
func (y *yard) learn(machines []laden) {
	for _, p := range y.piles {
		p.pods = 0
	}
	for _, m := range machines {
		for _, p := range m.picks {
			p.pile.pods += p.n
		}
	}
	y.appraise()
	cost, worth := map[*pile]float64{}, map[*pile]float64{}
	for _, m := range machines {
		sum := 0.0
		for _, p := range m.picks {
			sum += p.worth / p.markup * float64(p.n)
		}
		if sum == 0 {
			continue
		}
		for _, p := range m.picks {
			share := p.worth / p.markup * float64(p.n)
			cost[p.pile] += share * m.price() / sum
			worth[p.pile] += share
		}
	}
	for _, p := range y.piles {
		if worth[p] > 0 {
			p.markup *= 1 + damping*(cost[p]/worth[p]-1)
		}
	}
}

// repack packs the claims of a template again and takes them from the list; nil if that saves nothing.
func (s *solver) repack(t *template) []*claim {
	first := len(s.targets.list) + len(s.claims)
	y := newYard(s, t, first, math.MaxInt)
	mine, others := y.collect()
	if len(mine) == 0 {
		return nil
	}
	for _, cl := range mine {
		t.limits.release(cl)
	}
	pieces := y.pack()
	if y.granted > 0 && pieces != nil {
		pieces = y.humbler(pieces, len(mine))
	}
	if slices.ContainsFunc(pieces, (*claim).wishes) {
		pieces = y.mergeHumbly(pieces)
	}
	if pieces == nil || y.burden(pieces) >= y.burden(mine) || !t.charge(pieces) {
		for _, cl := range mine {
			t.limits.charge(cl)
		}
		return nil
	}
	s.claims = others
	return pieces
}

// collect moves the pods of the template's claims into the yard. It returns the claims that are empty then, and all others.
func (y *yard) collect() (mine, others []*claim) {
	fills := 0
	for _, cl := range y.s.claims {
		if cl.t == y.t {
			fills += len(cl.fills)
		}
	}
	piles := min(fills, len(y.s.classes.byAsk))
	y.known, y.same, y.piles = make(map[fillKey]*pile, piles), make(map[pileKey]*pile, piles/2), make([]*pile, 0, piles/2)
	for _, cl := range y.s.claims {
		if cl.t == y.t && y.take(cl) {
			mine = append(mine, cl)
		} else {
			others = append(others, cl)
		}
	}
	return mine, others
}

// humbler is pieces, which replace so many claims, or what holds the same pods on fewer machines because fewer of them are kept
// away from their like: no machine is launched for a wish alone.
func (y *yard) humbler(pieces []*claim, claims int) []*claim {
	again := func(next, grants int) (other *yard, packed []*claim) {
		other = newYard(y.s, y.t, next, grants)
		if mine, _ := other.collect(); len(mine) < claims {
			return other, nil // without their wishes some pods are none of the yard's
		}
		return other, other.pack()
	}
	bare, least := again(y.next, 0)
	if least == nil || len(least) >= len(pieces) || y.burden(least) > y.burden(pieces) {
		return pieces
	}
	// Each machine can grant one pod of a kind its wish.
	if _, fair := again(bare.next, len(least)); fair != nil && len(fair) == len(least) && y.burden(fair) <= y.burden(least)*(1+lp.Negligible) {
		return fair
	}
	return least
}

// charge counts pieces against the pool's limits, and reports whether these admit them and leave enough choice. Each is then any
// machine that can hold its pods and that the limits leave.
func (t *template) charge(pieces []*claim) bool {
	l := t.limits
	for _, piece := range pieces {
		if !l.unlimited() {
			piece.cheapestOnly()
		}
		l.charge(piece)
	}
	admitted := !slices.ContainsFunc(l.bounds, func(b bound) bool { return b.remaining < 0 })
	if admitted {
		for _, piece := range pieces {
			l.release(piece)
			piece.widen()
			l.charge(piece)
			admitted = admitted && len(piece.unmet(t.states[piece.state], piece.mask)) == 0
		}
	}
	if !admitted {
		for _, piece := range pieces {
			l.release(piece)
		}
	}
	return admitted
}
