package disrupt

// singleNode replaces or deletes one node at a time.
//
// All candidates are evaluated in parallel on one snapshot. Then the best moves are taken in order, each on top of those taken
// before, within the budgets: a move that does not work together with a better one waits.
//
// Source: disruption specification, single-node search.
func singleNode() Method {
	return Method{
		Name: "single-node consolidation", Reason: Underutilized, Type: "single", Class: Graceful,
		Simulates: ForConsolidation, Search: EachCandidate, Timeout: searchTimeout,
		Queued: true, Memoized: true, ReportsEvaluation: true,
		Filter: filterConsolidation, Decide: decideSingle,
	}
}

// evaluation is the result for one set of candidates.
type evaluation struct {
	done     bool
	command  Command
	obstacle *Obstacle
	scoring  Scoring
}

func decideSingle(s Session, fit []Candidate) Decision {
	var d Decision
	var order []Candidate
	for _, c := range interleave(byRatio(fit), s.FirstPools) {
		if s.Budgets[c.Node.Pool] <= 0 {
			d.Incomplete = true
			d.skip(NodePoolBudgetExhausted, c)
			continue
		}
		order = append(order, c)
	}
	found := make([]evaluation, len(order))
	s.Each(len(order), func(sim *Simulator, i int) {
		if !s.Expired() {
			found[i] = sim.evaluateSingle(order[i])
		}
	})
	visited := map[string]bool{}
	taken, to := 0, s.destinations()
	for i, v := range found {
		switch c := order[i]; {
		case !v.done:
			d.TimedOut = true
			d.skip(NotReached, c)
		case v.obstacle != nil:
			visited[c.Node.Pool] = true
			d.Obstacles = append(d.Obstacles, *v.obstacle)
		default:
			visited[c.Node.Pool] = true
			code := s.skipCode(c, to)
			if code == "" {
				code = s.onTop(&v, c, &taken)
			}
			if code != "" {
				d.Incomplete = true
				d.skip(code, c)
				continue
			}
			s.take(&d, v.command, to)
		}
		if len(v.scoring.Scores) > 0 {
			d.Scored = append(d.Scored, ScoredCommand{v.command, v.scoring})
		}
	}
	if d.TimedOut {
		d.Unvisited = map[string]bool{}
		for _, c := range order {
			if !visited[c.Node.Pool] {
				d.Unvisited[c.Node.Pool] = true
			}
		}
	}
	return d
}

// onTop evaluates a move again, on top of those that were taken, and keeps it if it still works. Otherwise it returns the obstacle.
func (s Session) onTop(v *evaluation, c Candidate, taken *int) Code {
	sim := s.Simulators[0]
	if *taken < 0 || s.Expired() {
		return NotReached
	}
	again := sim.evaluateSingle(c)
	if again.obstacle != nil {
		return notTogether
	}
	*v = again
	if *taken++; !sim.Keep() {
		*taken = -1
	}
	return ""
}

// evaluateSingle evaluates one candidate.
func (sim *Simulator) evaluateSingle(c Candidate) evaluation {
	v := evaluation{done: true}
	if best, yes := sim.input.belowThreshold(c); yes {
		v.obstacle = &Obstacle{Code: ScoreTooLow, Node: c.Node, Scores: []Score{best}}
		return v
	}
	v.command, v.obstacle = sim.Consolidate([]Candidate{c}, "single")
	if v.obstacle != nil {
		return v
	}
	if v.scoring = sim.Score(v.command); !v.scoring.Approved {
		v.obstacle = &Obstacle{Code: ScoreTooLow, Node: c.Node, Scores: v.scoring.Scores}
	}
	return v
}

// interleave takes the candidates of each pool in turn, so that no pool waits for another: pools that were not reached last
// time first, the others by the order of their best candidate.
func interleave(list []Candidate, first map[string]bool) []Candidate {
	byPool := map[string][]Candidate{}
	var early, late []string
	for _, c := range list {
		if byPool[c.Node.Pool] == nil {
			if first[c.Node.Pool] {
				early = append(early, c.Node.Pool)
			} else {
				late = append(late, c.Node.Pool)
			}
		}
		byPool[c.Node.Pool] = append(byPool[c.Node.Pool], c)
	}
	pools := append(early, late...)
	out := make([]Candidate, 0, len(list))
	for i := 0; len(out) < len(list); i++ {
		for _, pool := range pools {
			if i < len(byPool[pool]) {
				out = append(out, byPool[pool][i])
			}
		}
	}
	return out
}
