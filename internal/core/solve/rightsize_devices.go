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
	minSaving = 0.01
	maxSaving = 0.5
)

// packing is one way to run the pods of a claim, with the devices that its pieces hold.
type devicePacking struct {
	pieces []*openNode
	held   []device.Suspended
}

// splitDevices is the cheapest way found to run the pods of a claim that holds devices, which is the claim itself if nothing
// saves enough. Machines with devices are dear, so pods without claims are tried apart from those that need them.
//
// Approach and invariant are those of rightSize; every attempt takes its devices from the ledger and puts them back, and the
// best one takes them for good. Claims whose devices others use too, and pools with limits, are left alone.
func (s *solver) splitDevices(on *openNode, base stateID) []*openNode {
	ledger := s.devices.ledger
	if !on.t.limits.unlimited() || s.shares(on) {
		return []*openNode{on}
	}
	var needy, plain []batch
	for _, f := range on.batches {
		if len(f.class().deviceClaims) > 0 {
			needy = append(needy, f)
		} else {
			plain = append(plain, f)
		}
	}
	whole := on.price()
	best := devicePacking{[]*openNode{on}, []device.Suspended{ledger.Suspend(on.devices)}}
	caps := s.deviceCaps(on, needy, base)
	apart := s.packWithoutDevices(on, plain, base)
	for _, limit := range caps {
		if p, ok := s.repackDevices(on, slices.Concat(needy, plain), limit, base); ok && splitObjective(p.pieces, whole) < splitObjective(best.pieces, whole) {
			best = p
		}
		if len(apart) == 0 {
			continue
		}
		p, ok := s.repackDevices(on, needy, limit, base)
		if pieces := slices.Concat(p.pieces, apart); ok && splitObjective(pieces, whole) < splitObjective(best.pieces, whole) {
			best = devicePacking{pieces, p.held}
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
func (s *solver) widenDevices(piece *openNode, base stateID) *openNode {
	if piece.devices == "" {
		piece.widen()
		return piece
	}
	ledger := s.devices.ledger
	held := ledger.Suspend(piece.devices)
	wide, number := piece.t.newOpenNodeIn(base, piece.t.states[base].mask), s.pieceNumber()
	for _, f := range piece.batches {
		o := s.offer(wide, number, f.class(), []*conjunction{f.form}, len(f.pods))
		if o.pods < len(f.pods) {
			ledger.Suspend(wide.devices)
			ledger.Resume(piece.devices, held)
			return piece
		}
		wide.put(f.class(), f.level, o, f.pods)
		s.commitDevices(wide, number, o)
	}
	return wide
}

// shares reports whether machines other than on use the claims of its pods.
func (s *solver) shares(on *openNode) bool {
	return slices.ContainsFunc(on.batches, func(f batch) bool {
		return slices.ContainsFunc(f.class().deviceClaims, func(c *device.Claim) bool { return len(s.devices.users[c.Name]) > 1 })
	})
}

// apart is the cheapest way to run pods without claims on machines of their own; nil if there are none, or no way.
func (s *solver) packWithoutDevices(on *openNode, plain []batch, base stateID) []*openNode {
	if len(plain) == 0 {
		return nil
	}
	part := on.t.newOpenNodeIn(base, on.t.states[base].mask)
	for _, f := range plain {
		o := part.consider(f.class(), f.form, len(f.pods))
		if o.pods < len(f.pods) {
			return nil
		}
		part.put(f.class(), f.level, o, f.pods)
	}
	rp := newYard(s, on.t, len(s.targets.list)+len(s.open), math.MaxInt)
	if !rp.add(part) {
		return nil
	}
	return rp.pack()
}

// deviceCaps are prices worth trying as the most one machine with devices may cost: those of the columns on which some of the
// pods could run alone, the ones that carry the claim's mix of resources most cheaply first.
func (s *solver) deviceCaps(on *openNode, needy []batch, base stateID) []float64 {
	t, whole := on.t, on.price()
	able := bitset.New(t.columns.len())
	for _, f := range needy {
		alone := t.newOpenNodeIn(base, t.states[base].mask)
		if o := s.offer(alone, s.pieceNumber(), f.class(), []*conjunction{f.form}, 1); o.pods > 0 {
			able.Or(o.mask)
		}
	}
	type option struct{ rate, price float64 }
	var options []option
	prices := t.prices(t.states[base])
	for column := range able.All() {
		if share := carries(t.room[column], on.total); share > 0 && prices[column] < whole {
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
func (s *solver) repackDevices(on *openNode, fills []batch, limit float64, base stateID) (p devicePacking, ok bool) {
	t, ledger := on.t, s.devices.ledger
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
				p.pieces, numbers = append(p.pieces, t.newOpenNodeIn(base, cheap)), append(numbers, s.pieceNumber())
			}
			piece := p.pieces[i]
			o := s.offer(piece, numbers[i], f.class(), []*conjunction{f.form}, len(pods))
			switch {
			case o.pods > 0:
				piece.put(f.class(), f.level, o, pods[:o.pods])
				s.commitDevices(piece, numbers[i], o)
				pods = pods[o.pods:]
			case len(piece.batches) == 0:
				return p, false
			}
		}
	}
	return p, true
}

// pieceNumber is a number that no claim has.
func (s *solver) pieceNumber() int {
	s.devices.pieces++
	return len(s.open) + s.devices.pieces
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
func splitObjective(open []*openNode, whole float64) float64 {
	return price(open) + whole*min(minSaving*float64(len(open)-1), maxSaving)
}
