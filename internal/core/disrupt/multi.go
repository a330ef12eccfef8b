package disrupt

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// maxNodesPerCommand is how many nodes one command may disrupt.
const maxNodesPerCommand = 100

// The limits of the search for a better set: how many nodes are added at first, at how many nodes windows start, and how many sets
// each part of the search evaluates.
const (
	firstChunk     = 8
	windowStarts   = 24
	maxEvaluations = 300
	maxRetries     = 100
)

// multiNode replaces several nodes by one, or by none.
//
// Problem: of all sets of candidates within the budgets find the one whose removal, with at most one new node, saves
// most. Approach: four kinds of sets compete. Prefixes of all candidates, best savings ratio first, found by bisection, and
// the same for each pool; where budgets are short also without nodes that cost nothing to disrupt, and by price. As many nodes
// as can be deleted together, found by adding one after the other. And sets that one new node can replace, on top of these,
// found by growing small windows. Then nodes of the best set are exchanged for others. Invariant: every set was evaluated as a whole, and
// no result saves less than the first kind does. Cost: a few hundred evaluations, each linear in the pods of its set.
//
// Source: disruption specification, multi-node search; weaknesses, exhaustive search is shallow.
func multiNode() Method {
	return Method{
		Name: "multi-node consolidation", Reason: Underutilized, Type: "multi", Class: Graceful,
		Simulates: ForConsolidation, Search: CandidateSets, Timeout: multiTimeout,
		Queued: true, Memoized: true, ReportsEvaluation: true,
		Filter: func(c Candidate) Code {
			if code := filterConsolidation(c); code != "" || !c.InGroupBackoff {
				return code
			}
			return NodeInBackoff
		},
		Decide: decideMulti,
	}
}

// search is a running search.
type search struct {
	Session
	sim   *Simulator
	order []Candidate
	best  evaluation
	// rejected is the last set that only its score ruled out.
	rejected evaluation
	// merges is how many merges were tried, exchanges how many exchanges, retries how many sets were simulated again in another order.
	merges, exchanges, retries int
}

func decideMulti(s Session, fit []Candidate) Decision {
	var d Decision
	m := search{Session: s, sim: s.Simulators[0]}
	to := s.destinations()
	for _, c := range byRatio(fit) {
		if s.Budgets[c.Node.Pool] > 0 && !to[c.Node.ID] {
			m.order = append(m.order, c)
		}
	}
	d.Incomplete = len(m.order) < len(fit)
	prefix := m.within(m.order)
	d.Incomplete = d.Incomplete || len(prefix) < len(m.order)
	if len(prefix) >= 2 {
		m.bisect(prefix)
		if pools := poolsOf(prefix); len(pools) > 1 {
			for _, pool := range pools {
				own := slices.DeleteFunc(slices.Clone(prefix), func(c Candidate) bool { return c.Node.Pool != pool })
				m.bisect(own)
			}
		}
		if len(prefix) < len(m.order) {
			m.spendBudgets()
		}
		m.grow()
		m.exchange()
	}
	d.TimedOut = s.Expired()
	switch {
	case m.best.done:
		for _, c := range m.best.command.Candidates {
			s.Budgets.Take(c.Node.Pool)
		}
		d.Commands = []Command{m.best.command}
		d.Scored = []ScoredCommand{{m.best.command, m.best.scoring}}
	case m.rejected.done && !d.TimedOut:
		d.Scored = []ScoredCommand{{m.rejected.command, m.rejected.scoring}}
	}
	return d
}

func poolsOf(list []Candidate) []string {
	var out []string
	for _, c := range list {
		out = append(out, c.Node.Pool)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// within keeps the candidates that the budgets allow, in order.
func (m *search) within(list []Candidate) []Candidate {
	left := Budgets{}
	for pool, n := range m.Budgets {
		left[pool] = n
	}
	var out []Candidate
	for _, c := range list {
		if left.Take(c.Node.Pool) {
			out = append(out, c)
		}
	}
	return out
}

// try evaluates a set as a whole, remembers it if it is the best so far, and reports whether it works.
func (m *search) try(set []Candidate) bool {
	v := evaluation{done: true}
	v.command, v.obstacle = m.consolidate(set)
	if v.obstacle != nil {
		return false
	}
	if v.scoring = m.sim.Score(v.command); !v.scoring.Approved {
		m.rejected = v
		return false
	}
	if len(set) >= 2 && (!m.best.done || better(v.command, m.best.command)) {
		m.best = v
	}
	return true
}

// consolidate decides about a set. First fit gives a place to a pod that has others, and then a pod with fewer choices finds none. The pods
// that found no place on an existing node are retried before all others.
func (m *search) consolidate(set []Candidate) (Command, *Obstacle) {
	best, o := m.sim.Consolidate(set, "multi")
	first := map[string]bool{}
	for o != nil || len(best.Replacements) > 0 {
		if m.retries >= maxRetries || m.Expired() || !m.sim.unplaced(first) {
			break
		}
		m.retries++
		command, again := m.sim.consolidate(set, "multi", maps.Clone(first))
		if again == nil && (o != nil || command.Savings() > best.Savings()) {
			best, o = command, nil
		}
	}
	return best, o
}

// better prefers the result with higher savings, then the one with less disruption.
func better(a, b Command) bool {
	// Sums of prices are rounded.
	const noise = 1e-9
	if gain := a.Savings() - b.Savings(); gain > noise || gain < -noise {
		return gain > 0
	}
	if x, y := a.disruptionCost(), b.disruptionCost(); x < y-noise || x > y+noise {
		return x < y
	}
	if x, y := a.Pods(), b.Pods(); x != y {
		return x < y
	}
	return strings.Join(a.IDs(), ",") < strings.Join(b.IDs(), ",")
}

// bisect looks for the longest prefix that works, as if all shorter ones worked, too. It evaluates the prefixes that
// upstream evaluates, so that it finds whatever upstream finds, except that the longest has one node less.
func (m *search) bisect(list []Candidate) {
	for low, high := 1, min(maxNodesPerCommand, len(list)-1); low <= high && !m.Expired(); {
		mid := (low + high) / 2
		if m.try(list[:min(mid+1, maxNodesPerCommand)]) {
			low = mid + 1
		} else {
			high = mid - 1
		}
	}
}

// spendBudgets bisects other prefixes where budgets allow fewer nodes than there are: a node whose pods cost nothing to evict has a high
// ratio and may be cheap. Upstream leaves such nodes to emptiness. One node that cannot be moved must not spoil all sets either: each of the
// first nodes is also combined with those of the best ratio.
func (m *search) spendBudgets() {
	costly := slices.DeleteFunc(slices.Clone(m.order), func(c Candidate) bool { return c.DisruptionCost <= baseCost })
	m.bisect(m.within(costly))
	for i, c := range costly[:min(len(costly), windowStarts)] {
		set := m.within(slices.Concat([]Candidate{c}, costly[:i], costly[i+1:]))
		if m.Expired() || len(set) > maxNodesPerCommand {
			break
		}
		m.try(set)
	}
	slices.SortStableFunc(costly, func(a, b Candidate) int { return cmp.Compare(b.Price, a.Price) })
	m.bisect(m.within(costly))
}

// grow adds nodes to a set for as long as all of them can be deleted, many at a time where possible, and then searches for
// nodes that one node can replace on top.
func (m *search) grow() {
	var gone, rest []Candidate
	chunk, looks := firstChunk, 0
	for i := 0; i < len(m.order); {
		n := min(chunk, len(m.order)-i, maxNodesPerCommand-len(gone))
		if n <= 0 || looks >= maxEvaluations || m.Expired() {
			rest = append(rest, m.order[i:]...)
			break
		}
		looks++
		next := slices.Concat(gone, m.order[i:i+n])
		switch {
		case m.deletes(next):
			gone, chunk, i = next, 2*n, i+n
		case n > 1:
			chunk = n / 2
		default:
			rest, i = append(rest, m.order[i]), i+1
		}
	}
	if len(gone) >= 2 {
		m.try(gone)
	}
	m.merge(gone, rest)
}

// deletes reports whether all nodes of the set can be deleted within the budgets without a launch.
func (m *search) deletes(set []Candidate) bool {
	if len(m.within(set)) < len(set) {
		return false
	}
	command, o := m.consolidate(set)
	return o == nil && len(command.Replacements) == 0 && m.sim.Score(command).Approved
}

// merge searches for the group that one node replaces at the greatest gain, in addition to the deletion of gone.
func (m *search) merge(gone, rest []Candidate) {
	var best []Candidate
	gain := 0.0
	look := func(group []Candidate) {
		set := slices.Concat(gone, group)
		if m.merges++; m.merges > maxEvaluations || m.Expired() || len(set) > maxNodesPerCommand || len(m.within(set)) < len(set) {
			return
		}
		before := m.best
		if m.try(set) && m.best.done && (!before.done || m.best.command.Savings() > before.command.Savings()) {
			best, gain = slices.Clone(group), m.best.command.Savings()
		}
	}
	for start := range min(len(rest), windowStarts) {
		for _, n := range []int{1, 2, 3, 4, 6, 8, 12} {
			if n <= len(rest)-start {
				look(rest[start : start+n])
			}
		}
	}
	for _, c := range rest {
		if gain > 0 && !has(best, c) {
			look(slices.Concat(best, []Candidate{c}))
		}
	}
}

func has(list []Candidate, c Candidate) bool {
	return slices.ContainsFunc(list, func(o Candidate) bool { return o.Node.ID == c.Node.ID })
}
