package disrupt

import (
	"cmp"
	"slices"
	"strings"
)

// drift replaces nodes that differ from what their pool would launch today.
//
// All candidates without pods come first, then those that drifted first. Every candidate has its own command, so that no candidate
// waits for the replacement of another. With Session.TerminateFirst, at most one node in each pass is terminated before its replacement
// launches, because this needs the instance of a capacity reservation that the node holds.
//
// Nodes that are joined by PodGroups which are disrupted as a whole have one command, which also takes those that have not drifted, in the
// place of the first one that has.
//
// Source: disruption specification, drift.
func drift() Method {
	return Method{
		Name: "drift", Reason: Drifted, Class: Eventual, Simulates: ForReplacement, Search: InOrder, Timeout: searchTimeout,
		ReportsEvaluation: true, movesUnits: true, Filter: filterDrift, Decide: drifting().replaceEach,
	}
}

// cause is why nodes are replaced one by one.
type cause struct {
	reason Reason
	// noPlace is the obstacle that some pod would not be placed.
	noPlace Code
	// since is when the cause came up, in nanoseconds since the epoch; 0 for nodes without it.
	since func(Candidate) int64
}

func drifting() cause {
	return cause{reason: Drifted, noPlace: NoPlaceToDrift, since: func(c Candidate) int64 {
		if !c.Node.Disruption.Drifted {
			return 0
		}
		return max(c.Node.Disruption.DriftedSince, 1)
	}}
}

func filterDrift(c Candidate) Code {
	switch {
	case c.Pool.Static:
		return Static
	case !c.Node.Disruption.Drifted && (c.unit == nil || !c.unit.drifted):
		return NotDrifted
	case c.InBackoff:
		return NodeInBackoff
	}
	return ""
}

// oldestFirst orders candidates: those without pods to move first, then those with the oldest cause, then those that are drained sooner.
func (why cause) oldestFirst(list []Candidate) []Candidate {
	out := slices.Clone(list)
	full := func(c Candidate) int { return min(len(c.PodsToMove), 1) }
	slices.SortFunc(out, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(full(a), full(b)), cmp.Compare(why.since(a), why.since(b)),
			cmp.Compare(max(a.DrainRounds, 1), max(b.DrainRounds, 1)), strings.Compare(a.Node.Name, b.Node.Name), strings.Compare(a.Node.ID, b.Node.ID))
	})
	return out
}

// replaceEach replaces the nodes, and units, that have the cause.
func (why cause) replaceEach(s Session, fit []Candidate) Decision {
	var d Decision
	sim, kept, to := s.Simulators[0], true, s.destinations()
	members, done := map[*unit][]Candidate{}, map[*unit]bool{}
	for _, c := range fit {
		members[c.unit] = append(members[c.unit], c)
	}
	for _, c := range why.oldestFirst(fit) {
		set := []Candidate{c}
		if c.unit != nil {
			if done[c.unit] || why.since(c) == 0 {
				continue
			}
			set, done[c.unit] = members[c.unit], true
		}
		if o := s.obstacleTo(set, to); o != nil {
			d.Incomplete = true
			d.skipSet(*o, set)
			continue
		}
		if d.TimedOut = d.TimedOut || s.Expired(); d.TimedOut || !kept {
			d.skipAll(NotReached, set)
			continue
		}
		t := sim.simulateBeside(set)
		if len(t.Failed) > 0 {
			if command, ok := s.terminatesFirst(why.reason, c, d.Commands); ok {
				s.take(&d, command, to)
				kept = false // the simulation without the node would count on places that exist only once it is gone
				continue
			}
			d.skipSet(Obstacle{Code: why.noPlace, Detail: s.describeNoPlace(set, t.Failed), Passes: t.passes()}, set)
			continue
		}
		if o := sim.poolInBackoff(t.Plan.NodeClaims); o != nil {
			d.skipSet(*o, set)
			continue
		}
		s.take(&d, Command{
			Reason: why.reason, Candidates: set, Whole: c.unit != nil, Replacements: sim.replacements(t), Placements: sim.placements(t),
		}, to)
		kept = sim.Keep()
	}
	return d
}

// staticDrift replaces drifted nodes of pools with a fixed number of nodes, one for one and without any simulation: NodeClaims
// follow the pool's template. Session.Grant is how many more NodeClaims of a pool may be created. With Session.TerminateFirstStatic, nodes of a
// pool that may have none more are terminated, and the pool launches others.
//
// Source: disruption specification, static drift.
func staticDrift() Method {
	return Method{
		Name: "static drift", Reason: Drifted, Class: Eventual, Search: ByBudget, ReportsEvaluation: true,
		Filter: func(c Candidate) Code { return drifting().filterStatic(c, NotDrifted) },
		Decide: drifting().replaceStatic,
	}
}

// filterStatic is why a candidate is not replaced one for one; without is the obstacle that it does not have the cause.
func (why cause) filterStatic(c Candidate, without Code) Code {
	switch {
	case !c.Pool.Static:
		return NotStatic
	case why.since(c) == 0:
		return without
	case c.InBackoff:
		return NodeInBackoff
	case c.Pool.Surplus:
		return Surplus
	case c.Pool.InBackoff:
		return PoolInBackoff
	case c.SplitsGroup:
		return splitsPodGroup
	}
	return ""
}

// replaceStatic replaces the nodes of static pools that have the cause.
func (why cause) replaceStatic(s Session, fit []Candidate) Decision {
	byPool := map[string][]Candidate{}
	var pools []string
	for _, c := range why.oldestFirst(fit) {
		if byPool[c.Node.Pool] == nil {
			pools = append(pools, c.Node.Pool)
		}
		byPool[c.Node.Pool] = append(byPool[c.Node.Pool], c)
	}
	slices.Sort(pools)
	var d Decision
	for _, pool := range pools {
		s.replaceInStaticPool(&d, why.reason, pool, byPool[pool])
	}
	return d
}

// replaceInStaticPool replaces as many nodes of one pool as its budget, its reservations and its limit allow.
func (s Session) replaceInStaticPool(d *Decision, reason Reason, pool string, list []Candidate) {
	wanted := max(min(s.Budgets[pool], len(list)), 0)
	var st staging
	if wanted > 0 {
		var known bool
		if st, known = s.staging(pool); !known {
			d.skipAll(reservationsUnknown, list)
			return
		}
	}
	if st.full {
		list = st.holdersFirst(list)
	}
	chosen, rest := list[:wanted], list[wanted:]
	d.skipAll(NodePoolBudgetExhausted, rest)
	take := func(command Command) {
		s.Budgets.Take(pool)
		d.Commands = append(d.Commands, command)
	}
	granted := 0
	if wanted > 0 && !st.full {
		granted = max(min(s.Grant(pool, wanted), wanted), 0)
	}
	for i, c := range chosen {
		switch {
		case st.full && c.Pool.Usable && st.holds(c.Node):
			take(Command{Reason: reason, Candidates: []Candidate{c}, TerminateFirst: noReservedCapacity})
		case st.full:
			d.skip(reservationsFull, c)
		case i < granted:
			take(Command{Reason: reason, Candidates: []Candidate{c}, Static: true})
		case granted == 0 && s.terminatesAtLimit(c.Pool):
			take(Command{Reason: reason, Candidates: []Candidate{c}, TerminateFirst: staticAtLimit})
		default:
			d.skip(NodeLimit, c)
		}
	}
}
