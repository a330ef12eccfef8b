package disrupt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
)

// Problem: where a node limit or a capacity reservation has no place for a node and its replacement at the same time, a node that has to
// be replaced never would be. Approach: such a node is terminated, and what launches nodes anyway, for pending pods or for a static pool,
// fills its place. Invariant: this is done only where nothing else is in the way of the replacement, so that no node is lost in vain.
//
// Source: behavior specification, terminate-first.

// The reasons to terminate a node before its replacement launches, in the words of metrics.
const (
	// staticAtLimit is for nodes of a static pool that has as many nodes as its limit allows.
	staticAtLimit = "static-at-limit"
	// noReservedCapacity is for nodes that hold the instance of a full capacity reservation that their replacement needs.
	noReservedCapacity = "no-reserved-capacity"
)

// terminatesAtLimit reports whether nodes of a static pool that is at its node limit are terminated first. A pool that is not ready, or that
// is being deleted, would not launch their replacements. Where the limit exceeds the replicas, other replacements use it up: there will be a
// place for another one once they have taken over.
func (s Session) terminatesAtLimit(pool Pool) bool {
	return s.TerminateFirstStatic && pool.Usable && pool.NoSpareNode
}

// staging is what capacity reservations mean for replacements of the nodes of a static pool.
type staging struct {
	// full is set if nodes of the pool can be launched from reservations only, and none of these has an instance left.
	full bool
	// available are the IDs of the reservations that nodes of the pool could be launched from if these had instances left.
	available []string
	label     string
}

// staging looks at the capacity reservations of a static pool; not known if the instance types of the pool are not. It is not full where nodes
// are not terminated first.
func (s Session) staging(pool string) (st staging, known bool) {
	if !s.TerminateFirstStatic || s.ReservationLabel == "" {
		return staging{}, true
	}
	template := s.StaticPool(pool)
	if template == nil {
		return staging{}, false
	}
	return stagingOf(template, s.ReservationLabel), true
}

// stagingOf is staging for the template of a pool. An offering that is not reserved counts even if it is unavailable at the moment: the pool
// can be launched without a reservation then.
func stagingOf(template *model.Pool, label string) staging {
	st := staging{full: true, label: label}
	for _, it := range template.Catalog {
		if !template.Requirements.Intersects(it.Requirements) {
			continue
		}
		for i := range it.Offerings {
			o := &it.Offerings[i]
			switch id := o.Reservation(label); {
			case !template.Requirements.Intersects(o.Requirements):
			case !o.Requirements.Get(capacityTypeKey).Has(reserved), o.Launchable():
				st.full = false
			case o.Available() && id != "":
				st.available = append(st.available, id)
			}
		}
	}
	return st
}

// holds reports whether a node holds an instance of one of the available reservations.
func (st staging) holds(n *model.Node) bool {
	id := n.Labels[st.label]
	return id != "" && n.Labels[capacityTypeKey] == reserved && slices.Contains(st.available, id)
}

// holdersFirst orders candidates: those that hold an instance of a reservation come first.
func (st staging) holdersFirst(list []Candidate) []Candidate {
	out := slices.Clone(list)
	slices.SortStableFunc(out, func(a, b Candidate) int {
		switch before, after := st.holds(a.Node), st.holds(b.Node); {
		case before == after:
			return 0
		case before:
			return -1
		}
		return 1
	})
	return out
}

// terminatesFirst is the command that terminates a node before the NodeClaims exist that its pods need, because only the instance that the node
// holds of its reservation is missing for these. It is false where nodes are not terminated first, for units, or where more is missing. before are
// the commands of the session: pods and capacity count as if they were carried out.
func (s Session) terminatesFirst(reason Reason, c Candidate, before []Command) (Command, bool) {
	if c.unit != nil || !s.mayTerminateFirst(c) {
		return Command{}, false
	}
	input, available := s.Input.released(s.ReservationLabel, c.Node.Labels[s.ReservationLabel])
	if !available {
		return Command{}, false
	}
	input.Underway = slices.Concat(input.Underway, before)
	sim := input.Simulator([]Candidate{c}, ForReplacement)
	t := sim.Simulate([]Candidate{c})
	if len(t.Failed) > 0 || sim.poolInBackoff(t.Plan.NodeClaims) != nil {
		return Command{}, false
	}
	return Command{Reason: reason, Candidates: []Candidate{c}, TerminateFirst: noReservedCapacity, Placements: sim.placements(t)}, true
}

// mayTerminateFirst reports whether nodes are terminated first, and a node holds an instance of a reservation.
func (s Session) mayTerminateFirst(c Candidate) bool {
	return s.TerminateFirst && s.ReservationLabel != "" && c.Node.Labels[s.ReservationLabel] != "" && c.Node.Labels[capacityTypeKey] == reserved
}

// describeNoPlace describes pods without a place, and if that is the cause, that no node of a unit is terminated first.
func (s Session) describeNoPlace(set []Candidate, failed []UnplacedPod) string {
	text := s.Simulators[0].describeUnplaced(failed)
	if u := set[0].unit; u != nil && slices.ContainsFunc(set, s.mayTerminateFirst) {
		text = strings.TrimRight(text, " ") + fmt.Sprintf("; nodes are not terminated before their replacements launch if pods of %s run on several", u)
	}
	return text
}

// released is the input in which a reservation has one instance more, and in which pods that could use a reservation wait for one, as they do
// when they are pending. It is false if no available offering draws on the reservation.
func (s *SimulationInput) released(label, id string) (*SimulationInput, bool) {
	out, available := *s, false
	draws := func(o catalog.Offering) bool { return o.Reservation(label) == id }
	out.Problem.Options.Reserved = solve.ReservedStrict
	out.Problem.Pools = slices.Clone(s.Problem.Pools)
	copies := map[*catalog.InstanceType]*catalog.InstanceType{} // pools share instance types
	for i, pool := range out.Problem.Pools {
		next := *pool
		next.Catalog = slices.Clone(pool.Catalog)
		for j, it := range next.Catalog {
			if copies[it] == nil {
				copies[it] = withInstance(it, draws)
				available = available || slices.ContainsFunc(it.Offerings, func(o catalog.Offering) bool { return o.Available() && draws(o) })
			}
			next.Catalog[j] = copies[it]
		}
		out.Problem.Pools[i] = &next
	}
	return &out, available
}

// withInstance is an instance type whose offerings of a reservation have one instance more; the same one if it has none. Those that
// are unavailable count the instance as well, and stay so: the solver takes the lowest number that it finds for a reservation.
func withInstance(it *catalog.InstanceType, draws func(catalog.Offering) bool) *catalog.InstanceType {
	if !slices.ContainsFunc(it.Offerings, draws) {
		return it
	}
	out := *it
	out.Offerings = slices.Clone(it.Offerings)
	for i := range out.Offerings {
		if o := &out.Offerings[i]; draws(*o) {
			o.ReservationCapacity, o.Full = o.ReservationCapacity+1, false
		}
	}
	return &out
}
