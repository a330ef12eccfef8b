package solve

import (
	"cmp"
	"math"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/bitset"
	"github.com/karpenter-anew/karpenter/internal/core/device"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

const (
	// splitCaps is how many price caps are tried per claim, maxPieces how many machines it may be split into.
	splitCaps = 8
	maxPieces = 256
	// worthwhile is the part of a claim's price that every further machine of a split has to save, up to mostWorthwhile in
	// all: more nodes are more things that can go wrong.
	worthwhile     = 0.01
	mostWorthwhile = 0.5
)

// packing is one way to run the pods of a claim, with the devices that its pieces hold.
type packing struct {
	pieces []*claim
	held   []device.Suspended
}

// splitDevices is the cheapest way found to run the pods of a claim that holds devices, which is the claim itself if nothing
// saves enough. Machines with devices are dear, so pods without claims are tried apart from those that need them.
//
// Approach and invariant are those of rightSize; every attempt takes its devices from the ledger and puts them back, and the
// best one takes them for good. Claims whose devices others use too, and pools with limits, are left alone.
func (s *solver) splitDevices(cl *claim, base stateID) []*claim {
	ledger := s.devices.ledger
	if !cl.t.limits.unlimited() || s.shares(cl) {
		return []*claim{cl}
	}
	var needy, plain []fill
	for _, f := range cl.fills {
		if len(f.class().claims) > 0 {
			needy = append(needy, f)
		} else {
			plain = append(plain, f)
		}
	}
	whole := cl.price()
	best := packing{[]*claim{cl}, []device.Suspended{ledger.Suspend(cl.devices)}}
	caps := s.deviceCaps(cl, needy, base)
	apart := s.apart(cl, plain, base)
	for _, limit := range caps {
		if p, ok := s.repackDevices(cl, slices.Concat(needy, plain), limit, base); ok && burden(p.pieces, whole) < burden(best.pieces, whole) {
			best = p
		}
		if len(apart) == 0 {
			continue
		}
		p, ok := s.repackDevices(cl, needy, limit, base)
		if pieces := slices.Concat(p.pieces, apart); ok && burden(pieces, whole) < burden(best.pieces, whole) {
			best = packing{pieces, p.held}
		}
	}
	for i, held := range best.held {
		ledger.Resume(best.pieces[i].devices, held)
	}
	if len(best.pieces) > 1 {
		for i, piece := range best.pieces {
			best.pieces[i] = s.widenDevices(piece, base)
		}
	}
	return best.pieces
}

// widenDevices is the piece without the cap on its price, which has done its work: more candidates make the launch more
// likely. It is the piece as it was if its pods cannot have their devices that way.
func (s *solver) widenDevices(piece *claim, base stateID) *claim {
	if piece.devices == "" {
		piece.widen()
		return piece
	}
	ledger := s.devices.ledger
	held := ledger.Suspend(piece.devices)
	wide, number := piece.t.openIn(base, piece.t.states[base].mask), s.pieceNumber()
	for _, f := range piece.fills {
		o := s.offer(wide, number, f.class(), []*conjunction{f.form}, len(f.pods))
		if o.pods < len(f.pods) {
			ledger.Suspend(wide.devices)
			ledger.Resume(piece.devices, held)
			return piece
		}
		wide.put(f.class(), f.stage, o, f.pods)
		s.settleDevices(wide, number, o)
	}
	return wide
}

// shares reports whether machines other than cl use the claims of its pods.
func (s *solver) shares(cl *claim) bool {
	return slices.ContainsFunc(cl.fills, func(f fill) bool {
		return slices.ContainsFunc(f.class().claims, func(c *device.Claim) bool { return len(s.devices.users[c.Name]) > 1 })
	})
}

// apart is the cheapest way to run pods without claims on machines of their own; nil if there are none, or no way.
func (s *solver) apart(cl *claim, plain []fill, base stateID) []*claim {
	if len(plain) == 0 {
		return nil
	}
	part := cl.t.openIn(base, cl.t.states[base].mask)
	for _, f := range plain {
		o := part.consider(f.class(), f.form, len(f.pods))
		if o.pods < len(f.pods) {
			return nil
		}
		part.put(f.class(), f.stage, o, f.pods)
	}
	y := newYard(s, cl.t, len(s.targets.list)+len(s.claims), math.MaxInt)
	if !y.take(part) {
		return nil
	}
	return y.pack()
}

// deviceCaps are prices worth trying as the most one machine with devices may cost: those of the columns on which some of the
// pods could run alone, the ones that carry the claim's mix of resources most cheaply first.
func (s *solver) deviceCaps(cl *claim, needy []fill, base stateID) []float64 {
	t, whole := cl.t, cl.price()
	able := bitset.New(t.columns.len())
	for _, f := range needy {
		alone := t.openIn(base, t.states[base].mask)
		if o := s.offer(alone, s.pieceNumber(), f.class(), []*conjunction{f.form}, 1); o.pods > 0 {
			able.Or(o.mask)
		}
	}
	type option struct{ rate, price float64 }
	var options []option
	prices := t.prices(t.states[base])
	for column := range able.All() {
		if share := carries(t.room[column], cl.total); share > 0 && prices[column] < whole {
			options = append(options, option{prices[column] / share, prices[column]})
		}
	}
	slices.SortFunc(options, func(a, b option) int { return cmp.Or(cmp.Compare(a.rate, b.rate), cmp.Compare(b.price, a.price)) })
	var caps []float64
	for _, o := range options {
		if len(caps) < splitCaps && !slices.Contains(caps, o.price) {
			caps = append(caps, o.price)
		}
	}
	return caps
}

// repackDevices packs pods into machines that cost at most limit each, and puts the devices they take aside. ok is false if
// some pods do not fit anywhere.
func (s *solver) repackDevices(cl *claim, fills []fill, limit float64, base stateID) (p packing, ok bool) {
	t, ledger := cl.t, s.devices.ledger
	cheap, prices := bitset.New(t.columns.len()), t.prices(t.states[base])
	for column := range t.states[base].mask.All() {
		if prices[column] <= limit {
			cheap.Add(column)
		}
	}
	var numbers []int
	defer func() {
		for _, piece := range p.pieces {
			p.held = append(p.held, ledger.Suspend(piece.devices))
		}
	}()
	for _, f := range fills {
		pods := f.pods
		for i := 0; len(pods) > 0; i++ {
			if i == maxPieces {
				return p, false
			}
			if i == len(p.pieces) {
				p.pieces, numbers = append(p.pieces, t.openIn(base, cheap)), append(numbers, s.pieceNumber())
			}
			piece := p.pieces[i]
			o := s.offer(piece, numbers[i], f.class(), []*conjunction{f.form}, len(pods))
			switch {
			case o.pods > 0:
				piece.put(f.class(), f.stage, o, pods[:o.pods])
				s.settleDevices(piece, numbers[i], o)
				pods = pods[o.pods:]
			case len(piece.fills) == 0:
				return p, false
			}
		}
	}
	return p, true
}

// pieceNumber is a number that no claim has.
func (s *solver) pieceNumber() int {
	s.devices.pieces++
	return len(s.claims) + s.devices.pieces
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

// burden is what a way to run the pods of a claim costs, with what its number of machines is held to cost. whole is the
// price of the claim in one piece.
func burden(claims []*claim, whole float64) float64 {
	return price(claims) + whole*min(worthwhile*float64(len(claims)-1), mostWorthwhile)
}
