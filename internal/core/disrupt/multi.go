package disrupt

import (
	"slices"
	"strings"
)

// mostAtOnce is how many nodes one command may disrupt.
const mostAtOnce = 100

// How far the search for a better set goes: where it starts, how large the sets are that it tries for one replacement, and
// how often it looks.
const (
	windowStarts = 24
	mostMerges   = 400
)

// Multi replaces several nodes by one, or by none.
//
// Problem: of all sets of candidates within the budgets find the one whose removal, with at most one new machine, saves
// most. Approach: four kinds of sets compete. Prefixes of all candidates, best savings ratio first, found by bisection, and
// the same for each pool. As many nodes as can be deleted together, found by taking one away after the other. And sets that
// one new machine can replace, on top of these, found by growing small windows. Invariant: every set was evaluated as a
// whole, and no result saves less than the first kind does. Cost: a few evaluations for each candidate, each of which
// touches the pods of few nodes.
//
// Source: disruption specification, multi-node search; weaknesses, exhaustive search is shallow.
func Multi() Method {
	return Method{
		Reason: Underutilized, Type: "multi", Class: Graceful, Consolidates: true,
		Refuses: refusedByConsolidation, Decide: decideMulti,
	}
}

// search is a running search.
type search struct {
	Session
	lab   *Lab
	order []Candidate
	best  verdict
	// rejected is the last set that would have worked but for its score.
	rejected verdict
	// looks is how many merges were tried.
	looks int
}

func decideMulti(s Session, fit []Candidate) Decision {
	var d Decision
	m := search{Session: s, lab: s.Labs[0]}
	for _, c := range byRatio(fit) {
		if s.Budgets[c.Node.Pool] > 0 {
			m.order = append(m.order, c)
		}
	}
	d.Suppressed = len(m.order) < len(fit)
	prefix := m.within(m.order)
	d.Suppressed = d.Suppressed || len(prefix) < len(m.order)
	if len(prefix) >= 2 {
		m.bisect(prefix[:min(len(prefix), mostAtOnce)])
		if pools := poolsOf(prefix); len(pools) > 1 {
			for _, pool := range pools {
				own := slices.DeleteFunc(slices.Clone(prefix), func(c Candidate) bool { return c.Node.Pool != pool })
				m.bisect(own[:min(len(own), mostAtOnce)])
			}
		}
		m.grow()
		m.lab.Reset()
	}
	d.TimedOut = s.Over()
	switch {
	case m.best.seen:
		for _, c := range m.best.command.Candidates {
			s.Budgets.Take(c.Node.Pool)
		}
		d.Commands = []Command{m.best.command}
		d.Judgements = []Judged{{m.best.command, m.best.judgement}}
	case m.rejected.seen && !d.TimedOut:
		d.Judgements = []Judged{{m.rejected.command, m.rejected.judgement}}
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

// try evaluates a set as a whole, and remembers it if it is the best so far.
func (m *search) try(set []Candidate) (verdict, bool) {
	v := verdict{seen: true}
	v.command, v.obstacle = m.lab.Consolidate(set, "multi")
	if v.obstacle != nil {
		return v, false
	}
	if v.judgement = m.lab.Judge(v.command); !v.judgement.Approved {
		m.rejected = v
		return v, false
	}
	if len(set) >= 2 && (!m.best.seen || better(v.command, m.best.command)) {
		m.best = v
	}
	return v, true
}

// better prefers what saves more, then what disturbs less.
func better(a, b Command) bool {
	// Sums of prices are rounded.
	const noise = 1e-9
	if gain := a.Savings() - b.Savings(); gain > noise || gain < -noise {
		return gain > 0
	}
	if x, y := a.Pods(), b.Pods(); x != y {
		return x < y
	}
	return strings.Join(a.IDs(), ",") < strings.Join(b.IDs(), ",")
}

// bisect looks for the longest prefix that works, as if all shorter ones worked, too.
func (m *search) bisect(list []Candidate) {
	for low, high := 1, len(list)-1; low <= high && !m.Over(); {
		mid := (low + high) / 2
		if _, ok := m.try(list[:mid+1]); ok {
			low = mid + 1
		} else {
			high = mid - 1
		}
	}
}

// grow takes away one node after the other as long as nothing has to be launched, and then looks for the best set that one
// machine can replace on top.
func (m *search) grow() {
	left := Budgets{}
	for pool, n := range m.Budgets {
		left[pool] = n
	}
	var gone, rest []Candidate
	kept := true
	for _, c := range m.order {
		if m.Over() || !kept || len(gone) == mostAtOnce || left[c.Node.Pool] <= 0 {
			rest = append(rest, c)
			continue
		}
		command, o := m.lab.Consolidate([]Candidate{c}, "multi")
		if o != nil || len(command.Replacements) > 0 || !m.lab.Judge(command).Approved {
			rest = append(rest, c)
			continue
		}
		left.Take(c.Node.Pool)
		gone = append(gone, c)
		kept = m.lab.Keep()
	}
	group := m.merge(gone, rest, left)
	m.lab.Reset()
	if len(gone) >= 2 {
		m.try(gone)
	}
	if len(group) > 0 && len(gone)+len(group) >= 2 {
		m.try(slices.Concat(gone, group))
		if len(group) >= 2 {
			m.try(group)
		}
	}
}

// merge looks for a group that one machine replaces at the greatest gain, while the nodes gone are gone already.
func (m *search) merge(gone, rest []Candidate, budgets Budgets) []Candidate {
	var best []Candidate
	gain := 0.0
	look := func(group []Candidate) bool {
		if m.looks++; m.looks > mostMerges || m.Over() {
			return false
		}
		command, o := m.lab.Consolidate(group, "multi")
		if o == nil && command.Savings() > gain && m.lab.Judge(command).Approved {
			best, gain = slices.Clone(group), command.Savings()
			return true
		}
		return false
	}
	room := mostAtOnce - len(gone)
	for start := range min(len(rest), windowStarts) {
		window := m.affordable(rest[start:], budgets)
		for _, n := range []int{1, 2, 3, 4, 6, 8, 12} {
			if n <= min(len(window), room) {
				look(window[:n])
			}
		}
	}
	for _, c := range rest {
		if len(best) == 0 || len(best) >= room {
			break
		}
		if !has(best, c) && len(m.affordable(slices.Concat(best, []Candidate{c}), budgets)) > len(best) {
			look(slices.Concat(best, []Candidate{c}))
		}
	}
	return best
}

func has(list []Candidate, c Candidate) bool {
	return slices.ContainsFunc(list, func(o Candidate) bool { return o.Node.ID == c.Node.ID })
}

// affordable keeps the candidates that budgets allow, in order.
func (m *search) affordable(list []Candidate, budgets Budgets) []Candidate {
	spent := map[string]int{}
	var out []Candidate
	for _, c := range list {
		if spent[c.Node.Pool] < budgets[c.Node.Pool] {
			spent[c.Node.Pool]++
			out = append(out, c)
		}
	}
	return out
}
