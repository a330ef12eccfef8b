package compile

import (
	"fmt"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/bitset"
	"github.com/karpenter-anew/karpenter/internal/core/catalog"
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
const CapacityTypeReserved = catalog.CapacityTypeReserved

// Reservations knows how many instances each capacity reservation still holds.
//
// Problem: which open nodes can be launched from reservations, if each may be launched from some of them? Approach: a matching. An open node
// holds one instance, and another one that can do with a different reservation gives way to it, along an augmenting path. What is left in
// the end is held as well: the provider chooses among all that a NodeClaim names. Invariant: no instance is held twice. Cost: a search visits
// each reservation once, and the open nodes that hold instances of it; a search without result is remembered until something changes.
//
// Source: scheduling specification, reserved capacity.
type Reservations struct {
	Mode ReservedMode
	// Left by reservation.
	Left []int
	ids  []string
	ByID map[string]int
	// holders are the open nodes that hold an instance, by reservation; exhausted are reservations known to have none that can be freed.
	holders   [][]*OpenNode
	exhausted []bool
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
			for i := range it.Offerings {
				o := &it.Offerings[i]
				if id := o.Reservation(p.Options.ReservationLabel); id != "" {
					rs.Know(id, int(o.ReservationCapacity))
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
	rs.holders = append(rs.holders, nil)
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
			rs.holders[r] = append(rs.holders[r], on)
			rs.exhausted = nil
		}
	}
	for _, r := range on.held {
		if !slices.Contains(want, r) {
			rs.Left[r]++
			at := slices.Index(rs.holders[r], on)
			rs.holders[r] = slices.Delete(rs.holders[r], at, at+1)
			rs.exhausted = nil
		}
	}
	on.held = want
}

// Restore sets the instances that are left, and nothing is held.
func (rs *Reservations) Restore(left []int) {
	copy(rs.Left, left)
	clear(rs.holders)
	rs.exhausted = nil
}

// Update makes on hold an instance of a reservation that it could be launched from now, if there is one.
func (rs *Reservations) Update(on *OpenNode) {
	if rs.Mode == ReservedIgnored {
		return
	}
	may := rs.compatible(on.Template, on.Template.States[on.State].Kinds, on.Mask)
	if !slices.Equal(may, on.reservations) {
		on.reservations, rs.exhausted = may, nil
	}
	if len(on.held) == 1 && slices.Contains(may, on.held[0]) {
		return
	}
	rs.Hold(on, nil)
	if path := rs.free(may); path != nil {
		for i := len(path) - 1; i > 0; i-- {
			rs.Hold(path[i].from, []int{path[i].reservation})
		}
		rs.Hold(on, []int{path[0].reservation})
	}
}

// Serves reports whether on could hold an instance of one of the reservations in list, in place of what it holds.
func (rs *Reservations) Serves(on *OpenNode, list []int) bool {
	if len(rs.Reservable(on, list)) > 0 {
		return true
	}
	if len(on.held) == 0 {
		return rs.free(list) != nil
	}
	known := rs.exhausted
	rs.exhausted = nil
	for _, r := range on.held {
		rs.Left[r]++
	}
	path := rs.free(list)
	for _, r := range on.held {
		rs.Left[r]--
	}
	rs.exhausted = known
	return path != nil
}

// move is an open node that gives way and holds a reservation instead.
type move struct {
	reservation int
	from        *OpenNode
	// before is the index of the move that this one enables, -1 for none.
	before int
}

// free finds an instance of one of the reservations in list. The first entry of the result is its reservation; by the others, open nodes
// give way, the last of them to an instance that nothing holds. The result is nil if there is none.
func (rs *Reservations) free(list []int) []move {
	if rs.exhausted == nil {
		rs.exhausted = make([]bool, len(rs.Left))
	}
	var queue []move
	visit := func(m move) {
		if !rs.exhausted[m.reservation] {
			rs.exhausted[m.reservation] = true
			queue = append(queue, m)
		}
	}
	for _, r := range list {
		visit(move{reservation: r, before: -1})
	}
	for i := 0; i < len(queue); i++ { //nolint:intrange // visit appends to the queue
		r := queue[i].reservation
		if rs.Left[r] > 0 {
			var path []move
			for at := i; at >= 0; at = queue[at].before {
				path = append(path, queue[at])
			}
			slices.Reverse(path)
			rs.exhausted = nil
			return path
		}
		for _, on := range rs.holders[r] {
			for _, other := range on.reservations {
				visit(move{reservation: other, from: on, before: i})
			}
		}
	}
	return nil
}

// HoldAll makes on hold what is left of the reservations that it could be launched from: the provider chooses among them.
func (rs *Reservations) HoldAll(on *OpenNode) {
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

// Pin binds an open node to the reservation that it holds, and to what is left of others, and excludes all reservations for one that
// holds none. Where the held reservations alone leave too few values for minValues, only the other reservations are excluded: the
// provider launches from a reservation if it can.
func (on *OpenNode) Pin(cs *Classes) {
	rs := on.Template.Reservations
	rs.HoldAll(on)
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
