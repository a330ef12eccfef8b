package disrupt

import (
	"cmp"
	"slices"
	"strings"
)

// Session is what a method decides with.
type Session struct {
	Input *SimulationInput
	// Budgets are used up by what is decided.
	Budgets Budgets
	// Labs are at least one; each is used by one goroutine at a time.
	Simulators []*Simulator
	// Each calls do for every index below n, with a lab of its own for each call that runs at the same time, in ascending
	// order of their start.
	Each func(n int, do func(lab *Simulator, i int))
	// Over reports whether the time is up.
	Expired func() bool
	// First are pools that an earlier session did not get to.
	FirstPools map[string]bool
}

// promises are nodes, by ID, that commands count on: pods are on their way there.
type destinations map[string]bool

func (p destinations) add(c Command) {
	for _, at := range c.Placements {
		p[at.Node.ID] = true
	}
}

// promised are the nodes that commands under way count on.
func (s Session) destinations() destinations {
	out := destinations{}
	for _, c := range s.Input.Underway {
		out.add(c)
	}
	return out
}

// suppresses is why a candidate is not even looked at: its budget is spent, or pods are on their way to it; empty when it is.
func (s Session) skipCode(c Candidate, promised destinations) Code {
	switch {
	case s.Budgets[c.Node.Pool] <= 0:
		return BudgetSpent
	case promised[c.Node.ID]:
		return IsDestination
	}
	return ""
}

// take decides on a command for a candidate.
func (s Session) take(d *Decision, c Candidate, command Command, promised destinations) {
	s.Budgets.Take(c.Node.Pool)
	promised.add(command)
	d.Commands = append(d.Commands, command)
}

// Decision is what a method wants done, and why not more.
type Decision struct {
	Commands []Command
	// Obstacles say why a candidate is left alone. A method that looks at nodes one by one has one for each that is in no command.
	Obstacles []Obstacle
	// Judgements are those of moves that were scored, in the order of the commands they belong to, rejected ones included.
	Scored []ScoredCommand
	// Suppressed is set when budgets kept a candidate from being looked at: another look later may find more.
	Suppressed bool
	// TimedOut is set when time was up; Unvisited are the pools that were not reached.
	TimedOut  bool
	Unvisited map[string]bool
}

// leave notes why a candidate is left alone.
func (d *Decision) skip(code Code, c Candidate) {
	d.Obstacles = append(d.Obstacles, Obstacle{Code: code, Node: c.Node})
}

// Unreached says of candidates that nobody looked at them.
func NotReachedObstacles(list []Candidate) []Obstacle {
	var d Decision
	for _, c := range list {
		d.skip(NotReached, c)
	}
	return d.Obstacles
}

// Judged is a move with what its pools said about it.
type ScoredCommand struct {
	Command Command
	Scoring Scoring
}

// Drift replaces nodes that are not what would be launched today.
//
// All candidates without pods come first, then those that drifted first. Every candidate has a command of its own, so that
// none waits for the replacement of another.
//
// Source: disruption specification, drift.
func Drift() Method {
	return Method{Name: "drift", Reason: Drifted, Class: Eventual, Filter: filterDrift, Decide: decideDrift}
}

func filterDrift(c Candidate) Code {
	switch {
	case c.Pool.Static:
		return Static
	case !c.Node.Disruption.Drifted:
		return NotDrifted
	case c.InBackoff:
		return NodeInBackoff
	}
	return ""
}

// byDrift orders candidates: those without pods to move first, then the oldest drift, then those that are drained sooner.
func byDrift(list []Candidate) []Candidate {
	out := slices.Clone(list)
	full := func(c Candidate) int { return min(len(c.PodsToMove), 1) }
	slices.SortFunc(out, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(full(a), full(b)), cmp.Compare(a.Node.Disruption.DriftedSince, b.Node.Disruption.DriftedSince),
			cmp.Compare(max(a.DrainRounds, 1), max(b.DrainRounds, 1)), strings.Compare(a.Node.Name, b.Node.Name), strings.Compare(a.Node.ID, b.Node.ID))
	})
	return out
}

func decideDrift(s Session, fit []Candidate) Decision {
	var d Decision
	lab, kept, promised := s.Simulators[0], true, s.destinations()
	for _, c := range byDrift(fit) {
		if code := s.skipCode(c, promised); code != "" {
			d.Suppressed = true
			d.skip(code, c)
			continue
		}
		if d.TimedOut = d.TimedOut || s.Expired(); d.TimedOut || !kept {
			d.skip(NotReached, c)
			continue
		}
		t := lab.Simulate([]Candidate{c})
		if len(t.Failed) > 0 {
			d.Obstacles = append(d.Obstacles, Obstacle{Code: NoPlaceToDrift, Node: c.Node, Detail: describeUnplaced(t.Failed)})
			continue
		}
		if o := lab.poolInBackoff(t.Plan.NodeClaims); o != nil {
			o.Node = c.Node
			d.Obstacles = append(d.Obstacles, *o)
			continue
		}
		s.take(&d, c, Command{
			Reason: Drifted, Candidates: []Candidate{c}, Replacements: lab.replacements(t), Placements: lab.placements(t),
		}, promised)
		kept = lab.Keep()
	}
	return d
}

// StaticDrift replaces drifted nodes of pools with a fixed number of nodes, one for one and without any simulation: the pool
// says what is launched. Grants are how many more NodeClaims of each pool may be created.
//
// Source: disruption specification, static drift.
func StaticDrift(grants func(pool string, wanted int) int) Method {
	return Method{
		Name: "static drift", Reason: Drifted, Class: Eventual,
		Filter: func(c Candidate) Code {
			switch {
			case !c.Pool.Static:
				return Dynamic
			case !c.Node.Disruption.Drifted:
				return NotDrifted
			case c.InBackoff:
				return NodeInBackoff
			case c.Pool.Surplus:
				return Surplus
			case c.Pool.InBackoff:
				return PoolInBackoff
			}
			return ""
		},
		Pick: func(fit []Candidate, budgets Budgets) Decision { return pickStatic(fit, budgets, grants) },
	}
}

func pickStatic(fit []Candidate, budgets Budgets, grants func(string, int) int) Decision {
	byPool := map[string][]Candidate{}
	var pools []string
	for _, c := range byDrift(fit) {
		if byPool[c.Node.Pool] == nil {
			pools = append(pools, c.Node.Pool)
		}
		byPool[c.Node.Pool] = append(byPool[c.Node.Pool], c)
	}
	slices.Sort(pools)
	var d Decision
	for _, pool := range pools {
		wanted, granted := max(min(budgets[pool], len(byPool[pool])), 0), 0
		if wanted > 0 {
			granted = max(min(grants(pool, wanted), wanted), 0)
		}
		for i, c := range byPool[pool] {
			switch {
			case i < granted:
				budgets.Take(pool)
				d.Commands = append(d.Commands, Command{Reason: Drifted, Candidates: []Candidate{c}, Static: true})
			case i < wanted:
				d.skip(NodeLimit, c)
			default:
				d.skip(BudgetSpent, c)
			}
		}
	}
	return d
}
