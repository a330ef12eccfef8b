package compile

import (
	"fmt"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/bitset"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/index"
)

// ReservedMode is the policy for reserved offerings.
type ReservedMode uint8

const (
	// ReservedIgnored treats reserved offerings as ordinary ones.
	ReservedIgnored ReservedMode = iota
	// ReservedStrict defers pods that could use a reservation which other open nodes of this run may still release.
	ReservedStrict
	// ReservedFallback uses reservations as long as they last and ordinary offerings after that.
	ReservedFallback
)

// CapacityTypeReserved is the value of the capacity-type label of reserved offerings.
const CapacityTypeReserved = "reserved"

// Reservations knows how many instances each capacity reservation still holds. An open node holds one instance of every
// reservation that it may be launched from: the provider chooses among them. Source: scheduling specification, reserved
// capacity.
type Reservations struct {
	Mode ReservedMode
	// Left by reservation.
	Left []int
	ids  []string
	ByID map[string]int
	// Kinds is the reservation that each kind of offering draws on; -1 for none.
	Kinds map[*index.Columns][]int
}

func newReservations(p Problem, templates []*Template) *Reservations {
	rs := &Reservations{Mode: p.Options.Reserved, ByID: map[string]int{}, Kinds: map[*index.Columns][]int{}}
	for _, t := range templates {
		t.Reservations = rs
	}
	if rs.Mode == ReservedIgnored || p.Options.ReservationLabel == "" {
		rs.Mode = ReservedIgnored
		return rs
	}
	for _, pool := range p.Pools {
		for _, it := range pool.Catalog {
			for _, o := range it.Offerings {
				id := o.Requirements.Get(p.Options.ReservationLabel)
				if o.Requirements.Get(CapacityTypeKey).Has(CapacityTypeReserved) && id.Len() == 1 {
					rs.Know(id.Values()[0], int(o.ReservationCapacity))
				}
			}
		}
	}
	for _, t := range templates {
		if _, ok := rs.Kinds[t.Columns]; !ok {
			rs.Kinds[t.Columns] = rs.reservationOf(t, p.Options.ReservationLabel)
		}
	}
	return rs
}

// Know adds a reservation. Offerings that share one may have seen it at different times: the lowest number counts.
func (rs *Reservations) Know(id string, capacity int) {
	if i, ok := rs.ByID[id]; ok {
		rs.Left[i] = min(rs.Left[i], capacity)
		return
	}
	rs.ByID[id] = len(rs.Left)
	rs.Left = append(rs.Left, capacity)
	rs.ids = append(rs.ids, id)
}

func (rs *Reservations) reservationOf(t *Template, label string) []int {
	out := slices.Repeat([]int{-1}, len(t.Columns.Kinds))
	for k, kind := range t.Columns.Kinds {
		id, reserved := -1, false
		for _, have := range kind.Terms {
			r := t.Universe.Keys[have.Key].Sets[have.Set]
			switch {
			case r.Key == label && r.Len() == 1:
				id = rs.ByID[r.Values()[0]]
			case r.Key == CapacityTypeKey && r.Has(CapacityTypeReserved):
				reserved = true
			}
		}
		if reserved {
			out[k] = id
		}
	}
	return out
}

// compatible are the reservations that an open node could be launched from, given the kinds of offerings and the columns
// that it is left with, each once.
func (rs *Reservations) compatible(t *Template, kinds, mask bitset.Set) []int {
	var out []int
	for k := range kinds.All() {
		if r := rs.Kinds[t.Columns][k]; r >= 0 && t.Columns.Kinds[k].Columns.Intersects(mask) && !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	slices.Sort(out)
	return out
}

// Reservable are the reservations in list that on holds already or that have an instance left.
func (rs *Reservations) Reservable(on *OpenNode, list []int) []int {
	var out []int
	for _, r := range list {
		if rs.Left[r] > 0 || slices.Contains(on.held, r) {
			out = append(out, r)
		}
	}
	return out
}

// Hold makes on hold exactly the reservations in want: new ones are taken before old ones are released.
func (rs *Reservations) Hold(on *OpenNode, want []int) {
	for _, r := range want {
		if !slices.Contains(on.held, r) {
			if rs.Left[r] == 0 {
				// The caller has checked that an instance is left: continuing would launch an instance that does not exist.
				panic(fmt.Sprintf("reservation %s is used up and was taken once more", rs.ids[r]))
			}
			rs.Left[r]--
		}
	}
	for _, r := range on.held {
		if !slices.Contains(want, r) {
			rs.Left[r]++
		}
	}
	on.held = want
}

// Update makes on hold the reservations that it could be launched from now.
func (rs *Reservations) Update(on *OpenNode) {
	if rs.Mode != ReservedIgnored {
		rs.Hold(on, rs.Reservable(on, rs.compatible(on.Template, on.Template.States[on.State].Kinds, on.Mask)))
	}
}

// concern reports whether on, or a part of its pods, could be launched from a reservation.
func (rs *Reservations) concern(on *OpenNode) bool {
	return rs.MayServe(on.Template, on.Template.States[on.State])
}

// MayServe reports whether an open node in state st could be launched from a reservation.
func (rs *Reservations) MayServe(t *Template, st *State) bool {
	return rs.Mode != ReservedIgnored && len(rs.compatible(t, st.Kinds, st.Mask)) > 0
}

// Pin binds an open node that holds reservations to them, and excludes all reservations for one that holds none. Where the held
// reservations alone leave too few values for minValues, only the other reservations are excluded: the provider launches from a
// reservation if it can.
func (on *OpenNode) Pin(cs *Classes) {
	rs := on.Template.Reservations
	if len(on.held) == 0 {
		if rs.concern(on) {
			on.exclude(cs, requirement.New(CapacityTypeKey, requirement.NotIn, CapacityTypeReserved))
		}
		return
	}
	ids := make([]string, len(on.held))
	for i, r := range on.held {
		ids[i] = rs.ids[r]
	}
	to := on.Template.Step(on.State, cs.Intern(requirement.NewSet(
		requirement.New(CapacityTypeKey, requirement.In, CapacityTypeReserved),
		requirement.New(cs.options.ReservationLabel, requirement.In, ids...),
	)))
	if mask := on.Mask.And(on.Template.States[to].Mask); len(on.Unmet(on.Template.States[to], mask)) == 0 {
		on.State, on.Mask = to, mask
		return
	}
	var others []string
	for _, r := range rs.compatible(on.Template, on.Template.States[on.State].Kinds, on.Mask) {
		if !slices.Contains(on.held, r) {
			others = append(others, rs.ids[r])
		}
	}
	if len(others) > 0 {
		on.exclude(cs, requirement.New(cs.options.ReservationLabel, requirement.NotIn, others...))
	}
}

// exclude adds a requirement that excludes offerings, as long as others are left.
func (on *OpenNode) exclude(cs *Classes, r requirement.Requirement) {
	to := on.Template.Step(on.State, cs.Intern(requirement.NewSet(r)))
	if to == NoState {
		return
	}
	if mask := on.Mask.And(on.Template.States[to].Mask); !mask.Empty() {
		on.State, on.Mask = to, mask
	}
}
