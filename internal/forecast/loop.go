package forecast

import (
	"context"
	"time"

	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/problem"
	"github.com/karpenter-anew/karpenter/internal/simulation"
)

// loop is when the controller decides: soon after a change, and at intervals in any case.
type loop struct {
	// next is when the next pass is, woken is set if it follows a change.
	next  time.Time
	woken bool
	// changed is when the change happened; zero if there was none.
	changed time.Time
	// signaled is when the last change was.
	signaled time.Time
	// nominationEnds is when the first nomination ends of those that the last pass found.
	nominationEnds time.Time
	// timePasses is when the passing of time may change what the last pass found.
	timePasses time.Time
}

// wake makes a pass follow a change of the cluster.
func (r *run) wake() {
	r.skipPasses()
	clear(r.allowances) // what budgets allowed before may be of use
	clear(r.considered)
	r.batch.hopeless = false
	r.loop.signaled = r.now
	if at := r.now.Add(problem.QuietPeriod); at.Before(r.loop.next) {
		r.loop.next, r.loop.changed = at, r.now
	}
	r.loop.woken = true
}

// skipPasses moves the next pass behind those that found what the one before them had found.
func (r *run) skipPasses() {
	if late := r.now.Sub(r.loop.next); late > 0 && !r.loop.woken {
		r.loop.next = r.loop.next.Add((late + problem.PassInterval - 1) / problem.PassInterval * problem.PassInterval)
	}
}

// nextDecision is when the controller does next what may change something; zero for never.
func (r *run) nextDecision() time.Time {
	next := r.loop.nominationEnds
	for _, c := range r.underway {
		if c.phase == validating {
			next = earliest(next, c.due)
		}
	}
	if r.loop.woken {
		return earliest(next, r.loop.next)
	}
	if at := r.loop.timePasses; !at.IsZero() {
		// The passes at intervals before that time find what the last one found.
		r.skipPasses()
		pass := r.loop.next
		if late := at.Sub(pass); late > 0 {
			pass = pass.Add((late + problem.PassInterval - 1) / problem.PassInterval * problem.PassInterval)
		}
		next = earliest(next, pass)
	}
	return next
}

// decide is what the controller does when it wakes at now: it validates the commands that are due, and runs passes until no method proposes
// anything.
func (r *run) decide(ctx context.Context) error {
	if err := r.validateDue(ctx); err != nil {
		return err
	}
	r.skipPasses()
	ends := r.loop.nominationEnds
	if r.now.Before(r.loop.next) && (ends.IsZero() || r.now.Before(ends)) {
		return nil
	}
	for acted := true; acted; {
		r.passes++
		r.loop.nominationEnds = time.Time{}
		a, err := r.assess(ctx)
		if err != nil {
			return err
		}
		for _, o := range a.Excluded {
			if o.Code == disrupt.Nominated {
				r.loop.nominationEnds = earliest(r.loop.nominationEnds, time.Unix(0, o.Node.NominatedUntil))
			}
		}
		r.last = a
		acted, err = r.pass(ctx, a)
		if err != nil {
			return err
		}
		acted = acted && r.passes < maxPasses
	}
	r.loop.next, r.loop.woken = r.now.Add(problem.PassInterval), false
	if r.loop.signaled.Equal(r.now) {
		r.wake() // the pass may have missed it
	}
	r.loop.timePasses = r.timePasses()
	return nil
}

// assess assesses the cluster for a pass. Commands that wait are assumed to be complete.
func (r *run) assess(ctx context.Context) (simulation.Assessment, error) {
	r.mark()
	in := simulation.InProgress{
		InCommand: r.inCommand(nil), Backoff: r.nodeBackoffs.Active(r.now), GroupBackoff: r.groupBackoffs.Active(r.now), Proposals: r.proposals,
	}
	for _, c := range r.underway {
		if c.phase == validating {
			in.Underway = append(in.Underway, c.plan)
		}
	}
	r.view = r.cluster.View()
	return r.view.Assess(ctx, r.now, in)
}

// inCommand are the IDs of the nodes of all commands except one.
func (r *run) inCommand(except *running) map[string]bool {
	out := map[string]bool{}
	for _, c := range r.underway {
		if c == except {
			continue
		}
		for _, id := range c.plan.IDs() {
			out[id] = true
		}
	}
	return out
}

// pass tries one method after the other until one proposes commands.
func (r *run) pass(ctx context.Context, a simulation.Assessment) (bool, error) {
	changed := r.now
	if c := r.loop.changed; !c.IsZero() {
		changed = r.now.Add(-min(r.now.Sub(c), problem.QuietPeriod))
	}
	r.loop.changed = time.Time{}
	r.overBudget, r.obstacles, r.opens = false, nil, time.Time{}
	clear(r.skipped)
	for _, m := range r.view.Methods() {
		wanted, refused := m.FilterNodes(a.Candidates)
		wait(r, a, m, refused)
		fit, blocked := m.FilterPods(wanted, a.PodObstacles)
		block(r, m, blocked)
		recordSkipped(r, m, blocked)
		budgets := r.budgets(a, m.Reason, nil)
		for _, c := range fit {
			r.overBudget = r.overBudget || budgets[c.Node.Pool] == 0
		}
		if m.Admit != nil {
			fit, blocked = m.Admit(budgets, fit)
			block(r, m, blocked)
			recordSkipped(r, m, blocked)
		}
		if len(fit) == 0 {
			continue
		}
		d := a.Decide(m, fit, budgets)
		for _, command := range d.Commands {
			if asks(r, a, command) {
				continue
			}
			if err := r.propose(ctx, m, command, changed); err != nil {
				return false, err
			}
		}
		block(r, m, d.Obstacles)
		recordSkipped(r, m, d.Obstacles)
		recordConsidered(r, m, fit)
		r.overBudget = r.overBudget || d.Incomplete
		if len(d.Commands) > 0 {
			return true, nil
		}
	}
	return false, nil
}

// budgets is how many more nodes of each pool may be disrupted at an assessment, beside those of all commands except one. A pool whose budgets
// cannot be read allows none.
func (r *run) budgets(a simulation.Assessment, reason disrupt.Reason, except *running) disrupt.Budgets {
	all := problem.AllowancesOf(r.view.Snapshot, r.now, r.view.Pools, reason, r.inCommand(except), a.Operations)
	for _, name := range sortedKeys(all) {
		if err := all[name].Err; err != nil {
			r.note("NodePool %q allows no disruption: %v", name, err)
		}
	}
	return all.Budgets()
}
