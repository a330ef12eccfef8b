package disrupt

// Single replaces or deletes one node at a time.
//
// All candidates are looked at, in parallel, on one picture of the cluster. Then the best moves are taken in order, each on
// top of those taken before, as far as budgets go: a move that does not work together with a better one waits.
//
// Source: disruption specification, single-node search.
func Single() Method {
	return Method{
		Name: "single-node consolidation", Reason: Underutilized, Type: "single", Class: Graceful, Consolidates: true,
		Refuses: refusedByConsolidation, Decide: decideSingle,
	}
}

// verdict is what came out of a look at one candidate.
type verdict struct {
	seen      bool
	command   Command
	obstacle  *Obstacle
	judgement Judgement
}

func decideSingle(s Session, fit []Candidate) Decision {
	var d Decision
	var order []Candidate
	for _, c := range interleave(byRatio(fit), s.First) {
		if s.Budgets[c.Node.Pool] <= 0 {
			d.Suppressed = true
			d.leave(BudgetSpent, c)
			continue
		}
		order = append(order, c)
	}
	found := make([]verdict, len(order))
	s.Each(len(order), func(lab *Lab, i int) {
		if !s.Over() {
			found[i] = lab.single(order[i])
		}
	})
	visited := map[string]bool{}
	taken, promised := 0, s.promised()
	for i, v := range found {
		switch c := order[i]; {
		case !v.seen:
			d.TimedOut = true
			d.leave(NotReached, c)
		case v.obstacle != nil:
			visited[c.Node.Pool] = true
			d.Obstacles = append(d.Obstacles, *v.obstacle)
		default:
			visited[c.Node.Pool] = true
			code := s.suppresses(c, promised)
			if code == "" {
				code = s.onTop(&v, c, &taken)
			}
			if code != "" {
				d.Suppressed = true
				d.leave(code, c)
				continue
			}
			s.take(&d, c, v.command, promised)
		}
		if len(v.judgement.Scores) > 0 {
			d.Judgements = append(d.Judgements, Judged{v.command, v.judgement})
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

// onTop looks at a move again, after those that were taken, and takes it for granted if it still works. Otherwise it says why not.
func (s Session) onTop(v *verdict, c Candidate, taken *int) Code {
	lab := s.Labs[0]
	if *taken < 0 || s.Over() {
		return NotReached
	}
	again := lab.single(c)
	if again.obstacle != nil {
		return NotTogether
	}
	*v = again
	if *taken++; !lab.Keep() {
		*taken = -1
	}
	return ""
}

// single looks at one candidate.
func (l *Lab) single(c Candidate) verdict {
	v := verdict{seen: true}
	if best, yes := l.study.hopeless(c); yes {
		v.obstacle = &Obstacle{Code: ScoreTooLow, Node: c.Node, Scores: []Score{best}}
		return v
	}
	v.command, v.obstacle = l.Consolidate([]Candidate{c}, "single")
	if v.obstacle != nil {
		return v
	}
	if v.judgement = l.Judge(v.command); !v.judgement.Approved {
		v.obstacle = &Obstacle{Code: ScoreTooLow, Node: c.Node, Scores: v.judgement.Scores}
	}
	return v
}

// interleave takes the candidates of each pool in turn, so that no pool waits for another: pools that came too short last
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
