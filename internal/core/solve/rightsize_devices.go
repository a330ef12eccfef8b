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

// splitter splits open nodes that hold devices. Hosts from first on are free for trials, and pieces counts the parts that were
// tried.
type splitter struct {
	*placer
	first, pieces int
}

// devicePacking is one way to run the pods of a claim, with the devices that its pieces hold.
type devicePacking struct {
	pieces []*openNode
	held   []device.Suspended
}

// splitDevices is the cheapest way found to run the pods of a claim that holds devices, which is the claim itself if nothing
// saves enough. Machines with devices are dear, so pods without claims are tried apart from those that need them.
//
// Approach and invariant are those of rightSize; every attempt takes its devices from the ledger and puts them back, and the
// best one takes them for good. Claims whose devices others use too, and pools with limits, are left alone.
func (s *splitter) split(on *openNode, base stateID) []*openNode {
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
	caps := s.caps(on, needy, base)
	apart := s.packWithoutDevices(on, plain, base)
	for _, limit := range caps {
		if p, ok := s.repack(on, slices.Concat(needy, plain), limit, base); ok && splitObjective(p.pieces, whole) < splitObjective(best.pieces, whole) {
			best = p
		}
		if len(apart) == 0 {
			continue
		}
		p, ok := s.repack(on, needy, limit, base)
		if pieces := slices.Concat(p.pieces, apart); ok && splitObjective(pieces, whole) < splitObjective(best.pieces, whole) {
			best = devicePacking{pieces, p.held}
		}
	}
	for i, held := range best.held {
		ledger.Resume(best.pieces[i].devices, held)
	}
	if len(best.pieces) > 1 {
		for i, piece := range best.pieces {
			best.pieces[i] = s.widen(piece, base)
		}
	}
	return best.pieces
}

// widenDevices is the piece without the cap on its price, which has done its work: more candidates make the launch more
// likely. It is the piece as it was if its pods cannot have their devices that way.
func (s *splitter) widen(piece *openNode, base stateID) *openNode {
	if piece.devices == "" {
		piece.widen()
		return piece
	}
	ledger := s.devices.ledger
	held := ledger.Suspend(piece.devices)
	wide := s.newPiece(piece.t, base, piece.t.states[base].mask)
	if !s.putAll(wide, piece.batches) {
		ledger.Suspend(wide.open.devices)
		ledger.Resume(piece.devices, held)
		return piece
	}
	return wide.open
}

// shares reports whether machines other than on use the claims of its pods.
func (s *splitter) shares(on *openNode) bool {
	return slices.ContainsFunc(on.batches, func(f batch) bool {
		return slices.ContainsFunc(f.class().deviceClaims, func(c *device.Claim) bool { return len(s.devices.users[c.Name]) > 1 })
	})
}

// apart is the cheapest way to run pods without claims on machines of their own; nil if there are none, or no way.
func (s *splitter) packWithoutDevices(on *openNode, plain []batch, base stateID) []*openNode {
	if len(plain) == 0 {
		return nil
	}
	part := s.newPiece(on.t, base, on.t.states[base].mask)
	if !s.putAll(part, plain) {
		return nil
	}
	defer s.counts.endTrials(s.first)
	rp := newRepacker(s.placer, on.t, s.first, math.MaxInt)
	if !rp.add(part.open) {
		return nil
	}
	return rp.pack()
}

// deviceCaps are prices worth trying as the most one machine with devices may cost: those of the columns on which some of the
// pods could run alone, the ones that carry the claim's mix of resources most cheaply first.
func (s *splitter) caps(on *openNode, needy []batch, base stateID) []float64 {
	t, whole := on.t, on.price()
	able := bitset.New(t.columns.len())
	for _, f := range needy {
		alone := s.newPiece(t, base, t.states[base].mask)
		if s.fit(&s.offer, alone, f.class(), f.level, f.form.list[:], f.pods[:1]); s.offer.pods > 0 {
			able.Or(s.offer.mask)
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
func (s *splitter) repack(on *openNode, fills []batch, limit float64, base stateID) (p devicePacking, ok bool) {
	t, ledger := on.t, s.devices.ledger
	cheap, prices := bitset.New(t.columns.len()), t.prices(t.states[base])
	for column := range t.states[base].mask.All() {
		if prices[column] <= limit {
			cheap.Add(column)
		}
	}
	var pieces []bin
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
				pieces = append(pieces, s.newPiece(t, base, cheap))
				p.pieces = append(p.pieces, pieces[i].open)
			}
			s.fit(&s.offer, pieces[i], f.class(), f.level, f.form.list[:], pods)
			switch n := s.offer.pods; {
			case n > 0:
				s.take(&s.offer, pieces[i], f.class(), f.level, pods[:n])
				pods = pods[n:]
			case len(pieces[i].open.batches) == 0:
				return p, false
			}
		}
	}
	return p, true
}

// newPiece is an empty part of an open node. Its pods are not counted, and its devices go by a number that no other has.
func (s *splitter) newPiece(t *template, state stateID, mask bitset.Set) bin {
	s.pieces++
	on := t.newOpenNodeIn(state, mask)
	on.trial = true
	return bin{host: uncounted, number: s.first - len(s.targets.list) + s.pieces, open: on}
}

// putAll puts all pods of the batches on a piece; it reports false when some do not fit.
func (s *splitter) putAll(piece bin, batches []batch) bool {
	for _, f := range batches {
		if s.fit(&s.offer, piece, f.class(), f.level, f.form.list[:], f.pods); s.offer.pods < len(f.pods) {
			return false
		}
		s.take(&s.offer, piece, f.class(), f.level, f.pods)
	}
	return true
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
