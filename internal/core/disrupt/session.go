package disrupt

import "github.com/karpenter-anew/karpenter/internal/core/model"

// Session is the input of one decision of a method.
type Session struct {
	Input *SimulationInput
	// Budgets decrease with every decided disruption.
	Budgets Budgets
	// Simulators has at least one element if the method simulates. Each of them is for one goroutine at a time.
	Simulators []*Simulator
	// Each calls do for every index below n, in ascending order of the starts of the calls; calls that run at the same time have
	// different simulators. Only methods that consider each candidate use it.
	Each func(n int, do func(sim *Simulator, i int))
	// Expired reports whether the timeout of the decision has expired.
	Expired func() bool
	// FirstPools are pools that an earlier session did not reach.
	FirstPools map[string]bool
	// Grant reserves the right to create up to wanted NodeClaims of a static pool and returns how many it got.
	Grant func(pool string, wanted int) int
	// TerminateFirst lets nodes be terminated before their replacements launch, where there is no capacity for both; TerminateFirstStatic
	// those of static pools, which something has to keep at their size.
	TerminateFirst, TerminateFirstStatic bool
	// ReservationLabel is the label that names the capacity reservation of a node; empty where there are no reservations.
	ReservationLabel string
	// StaticPool returns the template of a static pool with its instance types; nil if these cannot be listed. It is called only with
	// TerminateFirstStatic.
	StaticPool func(name string) *model.Pool
}

// Serial is a session with one simulator, without a deadline. A nil simulator is for methods that do not simulate.
func (s *SimulationInput) Serial(sim *Simulator, budgets Budgets, grant func(pool string, wanted int) int) Session {
	if sim != nil {
		sim.Reset()
	}
	return Session{
		Input: s, Budgets: budgets, Simulators: []*Simulator{sim}, Grant: grant,
		Each: func(n int, do func(*Simulator, int)) {
			for i := range n {
				do(sim, i)
			}
		},
		Expired: func() bool { return false },
	}
}

// destinations are nodes, by ID, that commands move pods to.
type destinations map[string]bool

func (d destinations) add(c Command) {
	for _, at := range c.Placements {
		d[at.Node.ID] = true
	}
}

// destinations are those of the commands under way.
func (s Session) destinations() destinations {
	out := destinations{}
	for _, c := range s.Input.Underway {
		out.add(c)
	}
	return out
}

// skipCode is why a candidate is not evaluated: its budget is spent, or a command moves pods to it; empty when it is evaluated.
func (s Session) skipCode(c Candidate, to destinations) Code {
	switch {
	case s.Budgets[c.Node.Pool] <= 0:
		return NodePoolBudgetExhausted
	case to[c.Node.ID]:
		return IsDestination
	}
	return ""
}

// obstacleTo is why the candidates of a unit, or one of none, are not evaluated; nil when they are.
func (s Session) obstacleTo(set []Candidate, to destinations) *Obstacle {
	if o := s.Budgets.OverBudget(set); o != nil {
		return o
	}
	for _, c := range set {
		if to[c.Node.ID] {
			return &Obstacle{Code: IsDestination, Node: c.Node}
		}
	}
	return nil
}

// take adds a command to the decision.
func (s Session) take(d *Decision, command Command, to destinations) {
	for _, c := range command.Candidates {
		s.Budgets.Take(c.Node.Pool)
	}
	to.add(command)
	d.Commands = append(d.Commands, command)
}

// Decision is the result of a method: commands, and obstacles of other nodes.
type Decision struct {
	Commands []Command
	// Obstacles are why candidates are not disrupted. A method that considers nodes one by one has one for each that is in no command.
	Obstacles []Obstacle
	// Scored are the commands that were scored, in the order in which they were found, rejected ones included.
	Scored []ScoredCommand
	// Incomplete is set when budgets or other commands kept a candidate from being evaluated: a later pass may find more.
	Incomplete bool
	// TimedOut is set when the timeout expired; Unvisited are the pools that were not reached.
	TimedOut  bool
	Unvisited map[string]bool
}

// skip records why a candidate is not disrupted.
func (d *Decision) skip(code Code, c Candidate) {
	d.Obstacles = append(d.Obstacles, Obstacle{Code: code, Node: c.Node})
}

// skipSet records the same obstacle for all candidates of a set.
func (d *Decision) skipSet(o Obstacle, set []Candidate) {
	d.Obstacles = append(d.Obstacles, forAll(o, set)...)
}

// forAll is the same obstacle for all candidates of a set.
func forAll(o Obstacle, set []Candidate) []Obstacle {
	out := make([]Obstacle, len(set))
	for i, c := range set {
		out[i] = o
		out[i].Node = c.Node
	}
	return out
}

// skipAll records why candidates are not disrupted.
func (d *Decision) skipAll(code Code, list []Candidate) {
	for _, c := range list {
		d.skip(code, c)
	}
}

// NotReachedObstacles are the obstacles of candidates that were not evaluated.
func NotReachedObstacles(list []Candidate) []Obstacle {
	var d Decision
	d.skipAll(NotReached, list)
	return d.Obstacles
}

// ScoredCommand is a command with the scores of its pools.
type ScoredCommand struct {
	Command Command
	Scoring Scoring
}
