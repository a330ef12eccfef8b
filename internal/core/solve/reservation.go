package solve

import (
	"fmt"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/bitset"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// ReservedMode is what to do about reserved offerings.
type ReservedMode uint8

const (
	// ReservedIgnored takes reserved offerings for ordinary ones.
	ReservedIgnored ReservedMode = iota
	// ReservedStrict puts pods off that could use a reservation which others of this run may still give back.
	ReservedStrict
	// ReservedFallback uses reservations as long as they last and ordinary offerings after that.
	ReservedFallback
)

// capacityTypeReserved is the value of the capacity-type label of reserved offerings.
const capacityTypeReserved = "reserved"

// reservations knows how many instances each capacity reservation still holds. A claim holds one instance of every
// reservation that it may be launched from: which one it will be is the provider's choice.
// Source: scheduling specification, reserved capacity.
type reservations struct {
	mode ReservedMode
	// left by reservation.
	left []int
	ids  []string
	byID map[string]int
	// kinds tells which reservation a kind of offering draws on; -1 for none.
	kinds map[*columns][]int
}

func newReservations(p Problem, templates []*template) *reservations {
	rs := &reservations{mode: p.Options.Reserved, byID: map[string]int{}, kinds: map[*columns][]int{}}
	for _, t := range templates {
		t.reservations = rs
	}
	if rs.mode == ReservedIgnored || p.Options.ReservationLabel == "" {
		rs.mode = ReservedIgnored
		return rs
	}
	for _, pool := range p.Pools {
		for _, it := range pool.Catalog {
			for _, o := range it.Offerings {
				id := o.Requirements.Get(p.Options.ReservationLabel)
				if o.Requirements.Get(capacityTypeKey).Has(capacityTypeReserved) && id.Len() == 1 {
					rs.know(id.Values()[0], int(o.ReservationCapacity))
				}
			}
		}
	}
	for _, t := range templates {
		if _, ok := rs.kinds[t.columns]; !ok {
			rs.kinds[t.columns] = rs.reservationOf(t, p.Options.ReservationLabel)
		}
	}
	return rs
}

// know adds a reservation. Offerings that share one may have seen it at different times: the lowest number counts.
func (rs *reservations) know(id string, capacity int) {
	if i, ok := rs.byID[id]; ok {
		rs.left[i] = min(rs.left[i], capacity)
		return
	}
	rs.byID[id] = len(rs.left)
	rs.left = append(rs.left, capacity)
	rs.ids = append(rs.ids, id)
}

func (rs *reservations) reservationOf(t *template, label string) []int {
	out := slices.Repeat([]int{-1}, len(t.columns.kinds))
	for k, kind := range t.columns.kinds {
		id, reserved := -1, false
		for _, have := range kind.terms {
			r := t.u.keys[have.key].sets[have.set]
			switch {
			case r.Key == label && r.Len() == 1:
				id = rs.byID[r.Values()[0]]
			case r.Key == capacityTypeKey && r.Has(capacityTypeReserved):
				reserved = true
			}
		}
		if reserved {
			out[k] = id
		}
	}
	return out
}

// compatible are the reservations that a claim could be launched from, given the kinds of offerings and the columns that
// it is left with, each once.
func (rs *reservations) compatible(t *template, kinds, mask bitset.Set) []int {
	var out []int
	for k := range kinds.All() {
		if r := rs.kinds[t.columns][k]; r >= 0 && t.columns.kinds[k].columns.Intersects(mask) && !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	slices.Sort(out)
	return out
}

// reservable are those of list that on holds already or that have an instance left.
func (rs *reservations) reservable(on *openNode, list []int) []int {
	var out []int
	for _, r := range list {
		if rs.left[r] > 0 || slices.Contains(on.held, r) {
			out = append(out, r)
		}
	}
	return out
}

// hold makes on hold exactly the reservations in want: new ones are taken before old ones are given back.
func (rs *reservations) hold(on *openNode, want []int) {
	for _, r := range want {
		if !slices.Contains(on.held, r) {
			if rs.left[r] == 0 {
				// Whoever asks has looked first: to go on would launch what is not there.
				panic(fmt.Sprintf("reservation %s is used up and was taken once more", rs.ids[r]))
			}
			rs.left[r]--
		}
	}
	for _, r := range on.held {
		if !slices.Contains(want, r) {
			rs.left[r]++
		}
	}
	on.held = want
}

// update makes on hold what it could be launched from now.
func (rs *reservations) update(on *openNode) {
	if rs.mode != ReservedIgnored {
		rs.hold(on, rs.reservable(on, rs.compatible(on.t, on.t.states[on.state].kinds, on.mask)))
	}
}

// concern reports whether on, or what its pods could be split into, could be launched from a reservation.
func (rs *reservations) concern(on *openNode) bool {
	return rs.mayServe(on.t, on.t.states[on.state])
}

// mayServe reports whether a claim in state st could be launched from a reservation.
func (rs *reservations) mayServe(t *template, st *state) bool {
	return rs.mode != ReservedIgnored && len(rs.compatible(t, st.kinds, st.mask)) > 0
}

// pin binds a claim that holds reservations to them, and keeps one that holds none from counting on any.
func (on *openNode) pin(cs *classes) {
	rs := on.t.reservations
	if len(on.held) == 0 {
		if rs.concern(on) {
			on.unpin(cs)
		}
		return
	}
	ids := make([]string, len(on.held))
	for i, r := range on.held {
		ids[i] = rs.ids[r]
	}
	to := on.t.step(on.state, cs.intern(requirement.NewSet(
		requirement.New(capacityTypeKey, requirement.In, capacityTypeReserved),
		requirement.New(cs.options.ReservationLabel, requirement.In, ids...),
	)))
	on.state, on.mask = to, on.mask.And(on.t.states[to].mask)
}

// unpin leaves a claim without a reservation the ordinary offerings, as long as there are any.
func (on *openNode) unpin(cs *classes) {
	to := on.t.step(on.state, cs.intern(requirement.NewSet(
		requirement.New(capacityTypeKey, requirement.NotIn, capacityTypeReserved),
	)))
	if to == noState {
		return
	}
	if mask := on.mask.And(on.t.states[to].mask); !mask.Empty() {
		on.state, on.mask = to, mask
	}
}
