package repack

import (
	"cmp"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/bitset"
	"github.com/karpenter-anew/karpenter/internal/core/device"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/place"
)

const (
	// splitCaps is how many price caps are tried per open node, maxPieces how many nodes it may be split into.
	splitCaps = 8
	maxPieces = 256
	// minSaving is the part of an open node's price that every further node of a split has to save, up to maxSaving in all:
	// a failure is more likely with more nodes.
	minSaving = 0.01
	maxSaving = 0.5
)

// splitter splits open nodes that hold devices. Hosts from first on are free for trials, and pieces counts the parts that were
// tried.
type splitter struct {
	*place.Placer
	first, pieces int
}

// devicePacking is one way to run the pods of an open node, with the devices that its pieces hold.
type devicePacking struct {
	pieces []*compile.OpenNode
	held   []device.Suspended
}

// split is the cheapest way found to run the pods of an open node that holds devices, which is the open node itself if
// nothing saves enough. Instance types with devices are expensive, so pods without ResourceClaims are tried apart from
// those that need them.
//
// Approach and invariant are those of RightSize; every attempt takes its devices from the allocations and returns them, and
// the best one keeps them. Open nodes whose ResourceClaims are used elsewhere too, and pools with limits, are left
// alone.
func (s *splitter) split(on *compile.OpenNode, base compile.StateID) []*compile.OpenNode {
	allocations := s.Devices.Allocations
	if !on.Template.Limits.Unlimited() || s.shares(on) {
		return []*compile.OpenNode{on}
	}
	var needy, plain []compile.Batch
	for _, f := range on.Batches {
		if len(f.Class().DeviceClaims) > 0 {
			needy = append(needy, f)
		} else {
			plain = append(plain, f)
		}
	}
	whole := on.Price()
	best := devicePacking{[]*compile.OpenNode{on}, []device.Suspended{allocations.Suspend(on.Devices)}}
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
		allocations.Resume(best.pieces[i].Devices, held)
	}
	if len(best.pieces) > 1 {
		for i, piece := range best.pieces {
			best.pieces[i] = s.widen(piece, base)
		}
	}
	return best.pieces
}

// widen is the piece without the cap on its price, which is no longer needed: more candidates make the launch more
// likely to succeed. It is the piece as it was if its pods cannot have their devices that way.
func (s *splitter) widen(piece *compile.OpenNode, base compile.StateID) *compile.OpenNode {
	if piece.Devices == "" {
		piece.Widen()
		return piece
	}
	allocations := s.Devices.Allocations
	held := allocations.Suspend(piece.Devices)
	wide := s.newPiece(piece.Template, base, piece.Template.States[base].Mask)
	if !s.putAll(wide, piece.Batches) {
		allocations.Suspend(wide.Open.Devices)
		allocations.Resume(piece.Devices, held)
		return piece
	}
	return wide.Open
}

// shares reports whether nodes other than this one use the ResourceClaims of its pods.
func (s *splitter) shares(on *compile.OpenNode) bool {
	return slices.ContainsFunc(on.Batches, func(f compile.Batch) bool {
		return slices.ContainsFunc(f.Class().DeviceClaims, func(c *device.Claim) bool { return len(s.Devices.Users[c.Name]) > 1 })
	})
}

// packWithoutDevices is the cheapest way to run pods without ResourceClaims on separate nodes; nil if there are none,
// or no way.
func (s *splitter) packWithoutDevices(on *compile.OpenNode, plain []compile.Batch, base compile.StateID) []*compile.OpenNode {
	if len(plain) == 0 {
		return nil
	}
	part := s.newPiece(on.Template, base, on.Template.States[base].Mask)
	if !s.putAll(part, plain) {
		return nil
	}
	defer s.Counts.EndTrials(s.first)
	rp := newRepacker(s.Placer, on.Template, s.first)
	if !rp.add(part.Open) {
		return nil
	}
	return rp.pack()
}

// caps are prices to try as the most one node with devices may cost: those of the columns on which some of the pods could
// run alone, the ones that carry the open node's mix of resources most cheaply first.
func (s *splitter) caps(on *compile.OpenNode, needy []compile.Batch, base compile.StateID) []float64 {
	t, whole := on.Template, on.Price()
	able := bitset.New(t.Columns.Len())
	for _, f := range needy {
		alone := s.newPiece(t, base, t.States[base].Mask)
		if s.Fit(&s.Offer, alone, f.Class(), f.Level, f.Form.List[:], f.Pods[:1]); s.Offer.Pods > 0 {
			able.Or(s.Offer.Mask)
		}
	}
	type option struct{ rate, price float64 }
	var options []option
	prices := t.Prices(t.States[base])
	for column := range able.All() {
		if share := carries(t.CapacityIn(t.States[base]).Available[column], on.Total); share > 0 && prices[column] < whole {
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

// repack packs pods into nodes that cost at most limit each, and suspends the devices they take. ok is false if some pods
// do not fit anywhere.
func (s *splitter) repack(on *compile.OpenNode, fills []compile.Batch, limit float64, base compile.StateID) (p devicePacking, ok bool) {
	t, allocations := on.Template, s.Devices.Allocations
	cheap, prices := bitset.New(t.Columns.Len()), t.Prices(t.States[base])
	for column := range t.States[base].Mask.All() {
		if prices[column] <= limit {
			cheap.Add(column)
		}
	}
	var pieces []compile.Bin
	defer func() {
		for _, piece := range p.pieces {
			p.held = append(p.held, allocations.Suspend(piece.Devices))
		}
	}()
	for _, f := range fills {
		pods := f.Pods
		for i := 0; len(pods) > 0; i++ {
			if i == maxPieces {
				return p, false
			}
			if i == len(p.pieces) {
				pieces = append(pieces, s.newPiece(t, base, cheap))
				p.pieces = append(p.pieces, pieces[i].Open)
			}
			s.Fit(&s.Offer, pieces[i], f.Class(), f.Level, f.Form.List[:], pods)
			switch n := s.Offer.Pods; {
			case n > 0:
				s.Take(&s.Offer, pieces[i], f.Class(), f.Level, pods[:n])
				pods = pods[n:]
			case len(pieces[i].Open.Batches) == 0:
				return p, false
			}
		}
	}
	return p, true
}

// newPiece is an empty part of an open node. Its pods are not counted, and its devices go by a number that no other has.
func (s *splitter) newPiece(t *compile.Template, state compile.StateID, mask bitset.Set) compile.Bin {
	s.pieces++
	on := t.NewOpenNodeIn(state, mask)
	on.Trial = true
	return compile.Bin{Host: compile.Uncounted, Number: s.first - len(s.Targets.List) + s.pieces, Open: on}
}

// putAll puts all pods of the batches on a piece; it reports false when some do not fit.
func (s *splitter) putAll(piece compile.Bin, batches []compile.Batch) bool {
	for _, f := range batches {
		if s.Fit(&s.Offer, piece, f.Class(), f.Level, f.Form.List[:], f.Pods); s.Offer.Pods < len(f.Pods) {
			return false
		}
		s.Take(&s.Offer, piece, f.Class(), f.Level, f.Pods)
	}
	return true
}

// carries is the part of total that fits into capacity, at most 1.
func carries(capacity, total resource.Vector) float64 {
	share := 1.0
	for r, amount := range total {
		if amount > 0 {
			share = min(share, float64(capacity.At(r))/float64(amount))
		}
	}
	return share
}

// splitObjective is what a way to run the pods of an open node costs, with the overhead of its number of nodes. whole is
// the price of the open node in one piece.
func splitObjective(open []*compile.OpenNode, whole float64) float64 {
	return price(open) + whole*min(minSaving*float64(len(open)-1), maxSaving)
}
