package disruption

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/karpenter-anew/karpenter/internal/cluster"
	"github.com/karpenter-anew/karpenter/internal/controller/recovery"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/ledger"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
	"github.com/karpenter-anew/karpenter/internal/problem"
)

// planner decides: a pass evaluates the methods and queues the commands that they compose. Only the loop uses it.
type planner struct {
	Deps
	reads   *gatherer
	queue   *queue
	exec    *executor
	marks   *marker
	reports *reporter
	// obstacles has the reasons why nodes are not disrupted.
	obstacles *Obstacles

	// lastSurvey is when the pods of nodes that no method takes were last inspected.
	lastSurvey time.Time
	// changed is when the change that triggers the next pass was observed; zero when there is none.
	changed time.Time
	// nominationEnds is when the first nomination ends of those that the last pass found; zero when it found none.
	nominationEnds time.Time
	// nothingFound is the cluster state in which a memoized method found no command, by method; unvisitedPools are the pools that
	// single-node consolidation did not reach.
	nothingFound   map[string]string
	unvisitedPools map[string]bool
	// aside are the candidates that passes leave alone because of panics.
	aside *recovery.Quarantine
	// methods are those of the controller, in their order.
	methods []disrupt.Method
	told    told
	// proposed is how many commands there have been.
	proposed uint64
	plans    *plans
}

// pass is what the methods of one pass share.
type pass struct {
	view
	candidates []disrupt.Candidate
	blocks     map[string]disrupt.Obstacle
	// unhealthy are the candidates of repair, and unqualified the obstacles of other unhealthy nodes.
	unhealthy   []disrupt.Candidate
	unqualified []disrupt.Obstacle
	// notes are the obstacles to publish at the end, by node ID; repairNotes are those of repair.
	notes, repairNotes map[string]disrupt.Obstacle
	inspected          map[string]bool
	// sims are the contexts for simulations of candidates and unhealthy.
	sim, repairSim *simContext
	// changed is when the change that triggered the pass was observed, at most quietPeriod ago; without one, the start of the pass.
	changed time.Time
	// stateRevision is that of the store before any method was evaluated.
	stateRevision uint64
	// survey makes the pass inspect the pods of all candidates, to report their obstacles.
	survey bool
	// grants are what the pass reserved within the node limits of static pools, by pool.
	grants map[string]*grant
	// commands are those that the pass decided, and left the obstacles by method, for its record.
	commands []ledger.Command
	left     map[string][]disrupt.Obstacle
}

// pass removes leftover marks, then tries one method after the other until one proposes commands. An error in one step does not
// prevent the others. acted reports that commands were proposed: another pass may find more immediately. tried is set to the
// candidates before the first method is evaluated.
func (pl *planner) pass(ctx context.Context, tried *[]disrupt.Candidate) (acted bool, err error) {
	moves := pl.Store.ConsolidationState(pl.Clock.Now())
	v, err := pl.reads.gather(ctx)
	if err != nil {
		return false, err
	}
	p := pass{
		view: v, stateRevision: moves, changed: v.now,
		blocks: map[string]disrupt.Obstacle{}, notes: map[string]disrupt.Obstacle{}, inspected: map[string]bool{},
		repairNotes: map[string]disrupt.Obstacle{}, grants: map[string]*grant{}, left: map[string][]disrupt.Obstacle{},
	}
	if !pl.changed.IsZero() {
		p.changed = v.now.Add(-min(v.now.Sub(pl.changed), quietPeriod))
	}
	pl.changed = time.Time{}
	defer func() { pl.recordPass(&p, err) }()
	defer pl.reports.obstacles(&p, pl.Store.Snapshot)
	if p.survey = v.now.Sub(pl.lastSurvey) >= passInterval; p.survey {
		pl.lastSurvey = v.now
		pl.reports.budgetErrors(v)
	}
	err = pl.marks.clean(ctx, v, pl.queue.running)
	if pl.track(ctx, &p) {
		return true, err // the next pass knows of the command
	}
	var obstacles []disrupt.Obstacle
	p.candidates, obstacles = disrupt.Qualify(v.qualifyInput(v.inCommand))
	var aside []disrupt.Obstacle
	p.candidates, aside = pl.leaveAside(v, p.candidates)
	obstacles = append(obstacles, aside...)
	*tried = p.candidates
	pl.qualifyUnhealthy(&p, tried)
	pl.reads.prices.set(ctx, v.pools, p.candidates)
	pl.reads.prices.set(ctx, v.pools, p.unhealthy)
	p.note(obstacles)
	pl.nominationEnds = firstNominationEnd(obstacles)
	pl.obstacles.put("", obstacles)
	pl.leave(&p, "", obstacles, nil, false)
	pl.reports.budgets(&p, pl.Deps.Repair, pl.Gates.OperationsPolicy)
	for _, m := range pl.methods {
		if pl.propose(ctx, &p, m) {
			return true, err
		}
	}
	pl.obstacles.log(ctx, pl.Log, v.snapshot.Nodes)
	return false, err
}

// firstNominationEnd is when the first nomination of a node ends; zero when no node is nominated. No event announces it: without a
// pass at that time the node would be kept for up to passInterval longer.
func firstNominationEnd(obstacles []disrupt.Obstacle) time.Time {
	var first time.Time
	for _, o := range obstacles {
		if o.Code != disrupt.Nominated {
			continue
		}
		if until := time.Unix(0, o.Node.NominatedUntil); first.IsZero() || until.Before(first) {
			first = until
		}
	}
	return first
}

// propose lets a method compose commands, and queues them to be validated, or starts them if they are not queued. It reports
// whether there were any.
//
// The pods of the nodes that the method takes are inspected. A survey inspects those of all candidates, only to report their
// obstacles; it runs once per passInterval, however often passes are triggered.
func (pl *planner) propose(ctx context.Context, p *pass, m disrupt.Method) bool {
	started := pl.Clock.Now()
	fit, obstacles := pl.fit(ctx, p, m)
	eligible := len(fit)
	budgets := p.allowancesFor(m.Reason, pl.reads.pledged(p.view, command{})).Budgets()
	if m.Admit != nil {
		var refused []disrupt.Obstacle
		fit, refused = m.Admit(budgets, fit)
		p.noteFor(m, refused)
		obstacles = append(obstacles, refused...)
	}
	var d disrupt.Decision
	switch {
	case m.Simulates == disrupt.NoSimulation:
		session := disrupt.Session{Budgets: budgets, Grant: p.granter(pl.Store.Pools)}
		pl.letTerminateFirst(ctx, p.view, &session, m)
		d = m.Decide(session, fit)
	case len(fit) > 0:
		var known bool
		if d, known = pl.decide(ctx, p, m, fit, budgets); known {
			pl.obstacles.refresh(m.Name, obstacles, fit)
			pl.leave(p, m.Name, obstacles, nil, true)
			return false
		}
	}
	p.noteFor(m, d.Obstacles)
	pl.obstacles.put(m.Name, append(obstacles, d.Obstacles...))
	pl.leave(p, m.Name, obstacles, d.Obstacles, false)
	pl.reports.judged(p.view, m, d.Scored)
	acted := false
	for _, work := range d.Commands {
		acted = pl.dispose(ctx, p, m, work) || acted
	}
	if m.ReportsEvaluation {
		pl.Metrics.Disruption.EligibleNodes.WithLabelValues(label(m.Reason)).Set(float64(eligible))
		pl.Metrics.Disruption.EvaluationDuration.WithLabelValues(label(m.Reason), m.Type).Observe(pl.Clock.Since(started).Seconds())
	}
	return acted
}

// dispose queues a command, or proposes it as a DisruptionPlan where approval is required. It reports whether it did one of these.
func (pl *planner) dispose(ctx context.Context, p *pass, m disrupt.Method, work disrupt.Command) bool {
	demand, does, asked, err := pl.plans.asks(ctx, p.view, work)
	if !asked {
		pl.enqueue(ctx, p, m, work)
		return true
	}
	if work.Static {
		p.grants[work.Candidates[0].Node.Pool].giveBack()
	}
	proposed, why := false, ""
	if err != nil {
		why = "approval may be required: " + err.Error()
	} else {
		proposed, why = pl.plans.propose(ctx, p, m, work, demand, does)
	}
	if !proposed {
		var obstacles []disrupt.Obstacle
		for _, candidate := range work.Candidates {
			obstacles = append(obstacles, disrupt.Obstacle{Code: disrupt.ApprovalUnavailable, Node: candidate.Node, Detail: why})
		}
		p.noteFor(m, obstacles)
		pl.obstacles.add(m.Name, obstacles)
		p.left[m.Name] = append(p.left[m.Name], obstacles...)
	}
	return proposed
}

// fit returns the candidates that a method takes and whose pods may be evicted, and the obstacles of the others.
func (pl *planner) fit(ctx context.Context, p *pass, m disrupt.Method) ([]disrupt.Candidate, []disrupt.Obstacle) {
	if m.Repairs() {
		return pl.fitUnhealthy(ctx, p, m)
	}
	wanted, refused := m.FilterNodes(p.candidates)
	p.note(refused)
	look := wanted
	if p.survey {
		look = p.candidates
	}
	var fresh []disrupt.Candidate
	for _, candidate := range look {
		if !p.inspected[candidate.Node.ID] {
			p.inspected[candidate.Node.ID] = true
			fresh = append(fresh, candidate)
		}
	}
	for id, o := range pl.reads.podBlocks(ctx, p.view, fresh) {
		p.blocks[id] = o
		p.note([]disrupt.Obstacle{o})
	}
	fit, blocked := m.FilterPods(wanted, p.blocks)
	p.setDrainRounds(fit)
	return fit, append(refused, blocked...)
}

// decide lets a method simulate. known reports that nothing has changed since it last found no command.
func (pl *planner) decide(ctx context.Context, p *pass, m disrupt.Method, fit []disrupt.Candidate, budgets disrupt.Budgets) (d disrupt.Decision, known bool) {
	about := ""
	if m.Memoized {
		about = fmt.Sprintf("%d %x %x %s %v %s %s", p.stateRevision, digest(fit), digestCommands(p.underway), pl.reads.prices.digest(), slices.Sorted(maps.Keys(p.poolBackoff)), p.operations.Digest,
			pl.reads.capsDigest(ctx, p.view.pools))
		if pl.nothingFound[m.Name] == about {
			return disrupt.Decision{}, true
		}
	}
	sim, candidates := &p.sim, p.candidates
	if m.Repairs() {
		sim, candidates = &p.repairSim, fit
	}
	if *sim == nil {
		var err error
		if *sim, err = pl.reads.simContext(ctx, p.view, candidates, p.underway); err != nil {
			pl.Log.Error("cannot simulate, leaving the nodes alone", logfield.Reason(label(m.Reason)), logfield.Error(err))
			return disrupt.Decision{Obstacles: disrupt.NotReachedObstacles(fit)}, false
		}
	}
	session := (*sim).session(pl.Clock, m, budgets, pl.Clock.Now().Add(m.Timeout))
	session.FirstPools, session.Grant = pl.unvisitedPools, p.granter(pl.Store.Pools)
	pl.letTerminateFirst(ctx, p.view, &session, m)
	d = m.Decide(session, fit)
	if d.TimedOut && m.Type != "" {
		pl.Metrics.Disruption.ConsolidationTimeouts.WithLabelValues(m.Type).Inc()
		pl.Log.Debug("consolidation ran out of time", logfield.ConsolidationType(m.Type), logfield.CommandCount(len(d.Commands)))
	}
	if m.Search == disrupt.EachCandidate {
		pl.unvisitedPools = d.Unvisited
		pl.countClosedDestinations(p, fit, d.Obstacles)
	}
	if m.Memoized && len(d.Commands) == 0 && !d.Incomplete && !d.TimedOut {
		pl.nothingFound[m.Name] = about
	}
	return d, false
}

// closedDestinationsTimeout bounds the simulations of a pass that only count what closed destinations prevent.
const closedDestinationsTimeout = time.Second

// countClosedDestinations counts the candidates that were not consolidated only because nodes that would take their pods are within the
// consolidateAfter of their pools.
func (pl *planner) countClosedDestinations(p *pass, fit []disrupt.Candidate, obstacles []disrupt.Obstacle) {
	stopped := map[string]bool{}
	for _, o := range obstacles {
		if o.Code.OfSimulation() {
			stopped[o.Node.ID] = true
		}
	}
	end := pl.Clock.Now().Add(closedDestinationsTimeout)
	candidates := slices.DeleteFunc(slices.Clone(fit), func(c disrupt.Candidate) bool { return !stopped[c.Node.ID] })
	closed := p.sim.input.ClosedDestinations(candidates, func() bool { return pl.Clock.Now().After(end) })
	for _, c := range candidates {
		if len(closed[c.Node.ID]) > 0 {
			pl.Metrics.Disruption.ClosedDestinations.WithLabelValues(c.Node.Pool).Inc()
		}
	}
}

// digest identifies a list of candidates: nodes become candidates again when a backoff, a nomination or an obstacle among their pods
// ends.
func digest(list []disrupt.Candidate) uint64 {
	h := fnv.New64a()
	for _, c := range list {
		_, _ = h.Write([]byte(c.Node.ID)) // never fails
		_, _ = h.Write([]byte{0})
	}
	return h.Sum64()
}

// digestCommands identifies a list of commands by their nodes: simulations assume that they are complete, until they are dropped.
func digestCommands(list []disrupt.Command) uint64 {
	var nodes []disrupt.Candidate
	for _, c := range list {
		nodes = append(nodes, c.Candidates...)
	}
	return digest(nodes)
}

// enqueue adds a command to the queue, or starts it if its method is not validated.
func (pl *planner) enqueue(ctx context.Context, p *pass, m disrupt.Method, work disrupt.Command) {
	pl.proposed++
	cmd := command{id: string(uuid.NewUUID()), serial: pl.proposed, method: m, plan: work, decided: p.now, due: p.now}
	if m.Queued {
		cmd.due = p.changed.Add(problem.ValidationDelay)
	}
	if work.Static {
		cmd.reservation = p.grants[work.Candidates[0].Node.Pool]
	}
	if m.Reason == disrupt.Underutilized && work.Decision() == disrupt.Replace {
		pl.reports.candidates(p.view, work)
	}
	args := []any{
		logfield.Command(work.Text(cmd.id)), logfield.CommandID(cmd.id), logfield.Method(m.Name), logfield.DisruptedNodes(describeNodes(work)), logfield.CheckAt(cmd.due),
	}
	if replacements := describeReplacements(work); len(replacements) > 0 {
		args = append(args, logfield.ReplacementNodes(replacements))
	}
	pl.Log.Debug("proposing disruption", args...)
	if pl.Books != nil {
		p.commands = append(p.commands, pl.recorded(ctx, cmd))
	}
	if m.Queued {
		pl.queue.put(cmd)
		return
	}
	cmd.started = p.now
	pl.exec.start(ctx, cmd)
}

// granter returns a function that reserves the right to create NodeClaims of a static pool within its limit.
func (p *pass) granter(pools *cluster.Pools) func(pool string, wanted int) int {
	return func(pool string, wanted int) int {
		var limit *int64
		if nodes, ok := p.limits[pool]; ok {
			limit = &nodes
		}
		reservation := pools.Reserve(pool, wanted, limit)
		p.grants[pool] = &grant{reservation: reservation}
		return reservation.Left()
	}
}

// grant is a reservation for NodeClaims of a pool. Each command that shares it releases one.
type grant struct{ reservation *cluster.Reservation }

// giveBack releases one NodeClaim of the reservation. It does nothing for a command without a grant.
func (g *grant) giveBack() {
	if g != nil {
		g.reservation.Release(1)
	}
}

// among returns the candidates that belong to the command.
func among(candidates []disrupt.Candidate, work disrupt.Command) []disrupt.Candidate {
	own := map[string]bool{}
	for _, id := range work.IDs() {
		own[id] = true
	}
	return slices.DeleteFunc(slices.Clone(candidates), func(candidate disrupt.Candidate) bool { return !own[candidate.Node.ID] })
}

// label is a reason as most metrics spell it.
func label(reason disrupt.Reason) string { return strings.ToLower(string(reason)) }
