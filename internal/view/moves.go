package view

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/explain"
	"github.com/karpenter-anew/karpenter/internal/ledger"
)

const (
	// maxDone is how many commands that are done are listed.
	maxDone = 100
	// proposalTime is how long a search for commands may take, in large clusters.
	proposalTime = 3 * time.Second
)

// proposals are the commands that would be decided now.
type proposals struct {
	commands []Command
	complete bool
}

// pastCommand is a command of the ledger, with the names of its NodeClaims.
type pastCommand struct {
	Command
	claims []string
}

// Moves implements Source.
func (v *Views) Moves(ctx context.Context, at time.Time) (Moves, error) {
	if !at.IsZero() {
		m, err := v.past(ctx, at)
		if err != nil {
			return Moves{}, err
		}
		out := Moves{Head: v.headAt(ctx, "Moves", m), Commands: listed(nil, m.commands()), Plans: m.plans(), Pools: []Budgets{}}
		out.Unknown = append(out.Unknown, "budgets of the past")
		return out, nil
	}
	p, err := v.now(ctx)
	if err != nil {
		return Moves{}, err
	}
	a, release, err := v.analysisOf(ctx, p)
	if err != nil {
		return Moves{}, err
	}
	defer release()
	in := v.take(ctx, a.of)
	proposed := a.propose(v.clock.Now)
	out := Moves{Head: v.head("Moves", p), Plans: []Plan{}, Pools: []Budgets{}}
	out.Unknown = append(out.Unknown, a.lateness(p, "newer proposals and uses of budgets")...)
	if !proposed.complete {
		out.Unknown = append(out.Unknown, fmt.Sprintf("more proposed commands: the search ended after %s", proposalTime))
	}
	for _, pool := range in.pools {
		standing, err := a.standing(pool.Name)
		if err != nil {
			return Moves{}, err
		}
		out.Pools = append(out.Pools, Budgets{
			NodePool: pool.Name, Nodes: standing.Nodes, Budgets: standing.Budgets, Allowances: standing.Allowances, Disrupting: standing.Disrupting,
		})
	}
	open, exact := v.openCommands(ctx) // before the ledger: what ends meanwhile is among its records
	known, plans, note := v.ledgerCommands(ctx, exact)
	if note != "" {
		out.Unknown = append(out.Unknown, note)
	}
	if exact {
		known = withOpen(known, open)
	}
	out.Plans = append(out.Plans, plans...)
	out.Commands = listed(proposed.commands, withMarked(known, in))
	return out, nil
}

// standing is what explain says about a NodePool without simulations.
func (a *analysis) standing(name string) (explain.NodePool, error) {
	if known, ok := a.pools[name]; ok {
		return known, nil
	}
	out, err := a.engine.Standing(name)
	if err == nil {
		a.pools[name] = out
	}
	return out, err
}

// ledgerCommands are the commands and plans of the ledger; note says what is missing. exact is set if those that are open are known otherwise.
func (v *Views) ledgerCommands(ctx context.Context, exact bool) (out []pastCommand, plans []Plan, note string) {
	switch {
	case v.records == nil && exact:
		return nil, nil, "commands that are done, and DisruptionPlans: there is no ledger here"
	case v.records == nil:
		return nil, nil, "commands that wait for their validation or are done, the IDs of those under way, and DisruptionPlans: there is no ledger here"
	}
	m, err := v.records.at(ctx, time.Time{})
	if err != nil {
		return nil, nil, err.Error()
	}
	return m.commands(), m.plans(), ""
}

// withMarked adds commands for nodes that are marked for disruption and in no command that the ledger knows.
func withMarked(known []pastCommand, in *inventory) []pastCommand {
	covered := map[string]bool{}
	for _, c := range known {
		for _, name := range slices.Concat(c.Nodes, c.claims) {
			covered[name] = true
		}
	}
	for _, n := range in.nodes {
		if n.State != Disrupting || covered[n.Name] || covered[n.NodeClaim] {
			continue
		}
		known = append(known, pastCommand{Command: Command{
			State: UnderWay, Nodes: []string{n.Name}, NodePools: []string{n.NodePool}, Replacements: []string{},
			Pods: len(in.pods[in.place[n.Name]]),
		}})
	}
	return known
}

// listed puts commands into order: proposed ones, open ones, and the newest that are done.
func listed(proposed []Command, known []pastCommand) []Command {
	out := append([]Command{}, proposed...)
	var done []Command
	for _, c := range known {
		if c.State == Waiting || c.State == UnderWay {
			out = append(out, c.Command)
		} else {
			done = append(done, c.Command)
		}
	}
	slices.SortStableFunc(done, func(a, b Command) int { return timeOf(b.Ended).Compare(timeOf(a.Ended)) })
	return append(out, done[:min(len(done), maxDone)]...)
}

func timeOf(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// propose searches for commands, once.
func (a *analysis) propose(now func() time.Time) *proposals {
	if a.moves != nil {
		return a.moves
	}
	end := now().Add(proposalTime)
	commands, complete := a.engine.Proposed(func() bool { return now().After(end) })
	a.moves = &proposals{complete: complete}
	for _, c := range commands {
		a.moves.commands = append(a.moves.commands, a.proposed(c))
	}
	return a.moves
}

func (a *analysis) proposed(c disrupt.Command) Command {
	plan := a.engine.CommandPlan(c)
	out := Command{
		State: Proposed, Reason: string(c.Reason), Decision: plan.Decision, Nodes: append([]string{}, plan.With...), NodePools: slices.Sorted(slices.Values(c.Pools())),
		Replacements: append([]string{}, plan.Replacements...), SavesPerHour: plan.SavesPerHour,
		Approval: plan.Approval,
	}
	for _, candidate := range c.Candidates {
		for _, p := range candidate.Node.Pods {
			if p.Reschedulable {
				out.Pods++
			}
		}
	}
	return out
}

// commands are those of the ledger up to the moment, in the order in which they were decided. A start of a controller ends what was open.
func (m *moment) commands() []pastCommand {
	byID := map[string]*pastCommand{}
	var order []string
	command := func(id string) *pastCommand {
		c := byID[id]
		if c == nil {
			c = &pastCommand{Command: Command{ID: id, State: Waiting, Nodes: []string{}, NodePools: []string{}, Replacements: []string{}}}
			byID[id] = c
			order = append(order, id)
		}
		return c
	}
	for i := range m.records {
		r := &m.records[i]
		switch {
		case r.Start != nil:
			for _, c := range byID {
				c.abandon(r.Time)
			}
		case r.Disruption != nil:
			for _, d := range r.Disruption.Commands {
				command(d.ID).decide(d, r.Time)
			}
		case r.Command != nil:
			command(r.Command.ID).note(r.Command, r.Time)
		}
	}
	out := make([]pastCommand, 0, len(order))
	for _, id := range order {
		out = append(out, *byID[id])
	}
	return out
}

// abandon ends a command that no controller finishes: commands are not kept across restarts.
func (c *pastCommand) abandon(at time.Time) {
	if c.State == Waiting || c.State == UnderWay {
		c.State, c.Ended, c.Error = Failed, &at, "the controller was restarted, or another replica became the leader"
	}
}

func (c *pastCommand) decide(d ledger.Command, at time.Time) {
	c.Decided = &at
	c.describe(d)
}

// describe is what a command does.
func (c *pastCommand) describe(d ledger.Command) {
	c.Reason, c.Decision, c.Pods = d.Reason, d.Decision, d.Pods
	saves, known := d.SavingsPerHour, true
	pools := map[string]bool{}
	for _, s := range d.Nodes {
		c.Nodes = append(c.Nodes, cmp.Or(s.Node, s.Name))
		c.claims = append(c.claims, s.Name)
		known = known && s.Price != nil
		pools[s.NodePool] = true
	}
	c.NodePools = slices.Sorted(maps.Keys(pools))
	for _, r := range d.Replacements {
		if len(r.InstanceTypes.First) > 0 {
			c.Replacements = append(c.Replacements, r.InstanceTypes.First[0])
		}
	}
	if known {
		c.SavesPerHour = &saves
	}
}

func (c *pastCommand) note(e *ledger.CommandEvent, at time.Time) {
	c.Reason, c.Decision = e.Reason, e.Decision
	if len(e.Nodes) > 0 {
		c.Nodes = e.Nodes
	}
	if len(e.NodeClaims) > 0 {
		c.claims = e.NodeClaims
	}
	if len(e.NodePools) > 0 {
		c.NodePools = slices.Compact(slices.Sorted(slices.Values(e.NodePools)))
	}
	if len(e.Launched) > 0 {
		c.Replacements = e.Launched
	}
	c.Error = e.Error
	for _, o := range e.Obstacles {
		if c.Error == "" {
			c.Error = o.Node + ": " + cmp.Or(o.Text, o.Code)
		}
	}
	switch e.Outcome {
	case ledger.CommandStarted:
		c.State, c.Started = UnderWay, &at
		return
	case ledger.CommandSucceeded:
		c.State = Succeeded
	case ledger.CommandFailed:
		c.State = Failed
	case ledger.CommandRejected:
		c.State = Rejected
	}
	c.Ended = &at
}
