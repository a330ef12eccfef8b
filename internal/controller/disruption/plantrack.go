package disruption

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/uuid"

	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/ledger"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
	"github.com/karpenter-anew/karpenter/internal/problem"
)

// track compares the plans with the cluster: it ends those that cannot be executed any more, and queues the command of one that is approved. It
// reports whether it has queued one. Nodes of the other plans are held.
func (pl *planner) track(ctx context.Context, p *pass) (acted bool) {
	ps := pl.plans
	nodes := map[string]*model.Node{}
	if len(p.plans) > 0 {
		for _, n := range p.snapshot.Nodes.All() {
			if n.ClaimName != "" {
				nodes[n.ClaimName] = n
			}
		}
	}
	inQueue := pl.queue.approved()
	for _, plan := range p.plans {
		if !plan.Status.Phase.Final() && !inQueue[plan.Name] {
			queued, err := pl.step(ctx, p, plan, nodes, acted)
			if acted = acted || queued; err != nil && ctx.Err() == nil {
				report := ps.Log.Error
				if apierrors.IsConflict(errors.Unwrap(err)) {
					report = ps.Log.Debug // other clients write plans; the next pass continues
				}
				report("cannot proceed with a disruption plan, retrying with the next pass", logfield.DisruptionPlan(plan.Name), logfield.Error(err))
			}
		}
		ps.basis(ctx, p.view, nodes).Hold(p.proposals, plan, p.now)
	}
	ps.prune(ctx, p.view)
	return acted
}

// step does what is next for a plan, and reports whether its command was queued. Only one command is queued in a pass: others have to be
// computed with it in mind.
func (pl *planner) step(ctx context.Context, p *pass, plan *opsv1alpha1.DisruptionPlan, nodes map[string]*model.Node, acted bool) (queued bool, err error) {
	ps := pl.plans
	if plan.Status.Phase == "" { // the process ended, or the API server was not available, after the creation
		if err := ps.move(ctx, p.now, plan, opsv1alpha1.PlanProposed, "ApprovalRequired", plan.Spec.OperationsPolicy.Why); err != nil {
			return false, err
		}
	}
	if plan.Status.Phase == opsv1alpha1.PlanExecuting {
		return false, ps.finish(ctx, p, plan)
	}
	rejected, dropped := ps.outcome(plan.Name)
	if ps.forget(plan.Name); dropped {
		ps.postponed[plan.Name] = p.now
	}
	if plan.Status.Phase == opsv1alpha1.PlanProposed && plan.Spec.Decision != nil {
		if done, err := ps.decide(ctx, p, plan); done || err != nil {
			return false, err
		}
	}
	if !p.now.Before(plan.Spec.ExpiresAt.Time) {
		return false, ps.move(ctx, p.now, plan, opsv1alpha1.PlanExpired, "Expired", "the plan was valid until "+plan.Spec.ExpiresAt.UTC().Format("2006-01-02T15:04:05Z07:00"))
	}
	if reason, message := ps.basis(ctx, p.view, nodes).Stale(plan); reason != "" {
		return false, ps.move(ctx, p.now, plan, opsv1alpha1.PlanVoided, reason, message)
	}
	if i := slices.IndexFunc(rejected.obstacles, func(o disrupt.Obstacle) bool { return !o.Temporary() }); i >= 0 {
		o := rejected.obstacles[i]
		return false, ps.move(ctx, p.now, plan, opsv1alpha1.PlanVoided, string(o.Code), nameOf(o.Node)+": "+o.String())
	}
	return pl.proceed(ctx, p, plan, acted)
}

// decide writes what a person decided, if that was admitted by the policy that was in force at the proposal. done is set if the plan has ended.
func (ps *plans) decide(ctx context.Context, p *pass, plan *opsv1alpha1.DisruptionPlan) (done bool, err error) {
	d := plan.Spec.Decision
	var without interface{ NotEnforced() }
	switch admission, err := ps.verify(ctx, p.now); {
	case errors.As(err, &without):
		ps.complain(p.now, err)
		return true, ps.move(ctx, p.now, plan, opsv1alpha1.PlanVoided, "DecisionNotVerified", "the decision counts as if it had not been made: "+err.Error())
	case err != nil:
		return true, err
	case admission != plan.Spec.Admission:
		return true, ps.move(ctx, p.now, plan, opsv1alpha1.PlanVoided, "DecisionNotVerified", "what admits decisions has changed since the proposal")
	}
	message := "by " + d.By
	if d.Reason != "" {
		message += ": " + d.Reason
	}
	if d.Verdict == opsv1alpha1.VerdictRejected {
		return true, ps.move(ctx, p.now, plan, opsv1alpha1.PlanRejected, "Decided", message)
	}
	return false, ps.move(ctx, p.now, plan, opsv1alpha1.PlanApproved, "Decided", message)
}

// finish writes what became of a plan that is executed, once its command has ended. A command without a known end was interrupted with its
// process.
func (ps *plans) finish(ctx context.Context, p *pass, plan *opsv1alpha1.DisruptionPlan) error {
	o, known := ps.outcome(plan.Name)
	var err error
	switch {
	case known && o.what == ledger.CommandSucceeded:
		err = ps.move(ctx, p.now, plan, opsv1alpha1.PlanExecuted, "Succeeded", fmt.Sprintf("%d nodes were disrupted", len(plan.Spec.Nodes)), o.launched...)
	case known && o.failed != nil:
		err = ps.move(ctx, p.now, plan, opsv1alpha1.PlanFailed, "CommandFailed", o.failed.Error(), o.launched...)
	case known && len(o.obstacles) > 0:
		err = ps.move(ctx, p.now, plan, opsv1alpha1.PlanFailed, string(o.obstacles[0].Code), o.obstacles[0].String())
	case !slices.ContainsFunc(plan.Spec.Nodes, func(n opsv1alpha1.PlannedNode) bool {
		claim := p.claims[n.NodeClaim]
		return claim != nil && string(claim.UID) == n.NodeClaimUID && claim.DeletionTimestamp.IsZero()
	}):
		err = ps.move(ctx, p.now, plan, opsv1alpha1.PlanExecuted, "Succeeded", "the nodes are gone or being deleted")
	default:
		err = ps.move(ctx, p.now, plan, opsv1alpha1.PlanFailed, "Interrupted", "the controller ended while it executed the plan")
	}
	if err == nil {
		ps.forget(plan.Name)
	}
	return err
}

// basis is what plans are compared with. nodes are those of the cluster state by the name of their NodeClaim.
func (ps *plans) basis(ctx context.Context, v view, nodes map[string]*model.Node) problem.PlanBasis {
	return problem.PlanBasis{
		Claims: v.claims, Pools: v.pools, Nodes: nodes, Operations: v.operations,
		Evictions: func(candidates []disrupt.Candidate) ([]opsv1alpha1.PlannedEviction, error) {
			does, err := ps.reads.impactOf(ctx, v, candidates)
			return does.evictions, err
		},
	}
}

// proceed queues the command of an approved plan if it is still possible, and voids the plan if it is not. A plan that is not decided is voided
// when its method would not take its nodes any more.
func (pl *planner) proceed(ctx context.Context, p *pass, plan *opsv1alpha1.DisruptionPlan, acted bool) (queued bool, err error) {
	ps, approved := pl.plans, plan.Status.Phase == opsv1alpha1.PlanApproved
	if p.now.Sub(ps.postponed[plan.Name]) < passInterval {
		return false, nil
	}
	delete(ps.postponed, plan.Name)
	if !approved { // a process with the feature gate off wrote that the plan waits for the gate
		if err := ps.wait(ctx, plan, ""); err != nil {
			return false, err
		}
	}
	cmd, o := pl.recompute(ctx, p, plan, approved && !acted)
	switch {
	case o != nil && !o.Temporary():
		return false, ps.move(ctx, p.now, plan, opsv1alpha1.PlanVoided, string(o.Code), nameOf(o.Node)+": "+o.String())
	case o != nil && approved:
		return false, ps.wait(ctx, plan, nameOf(o.Node)+": "+o.String())
	case o != nil || !approved || acted:
		return false, nil
	}
	if !cmd.method.Repairs() {
		pl.queue.put(cmd)
		return true, nil
	}
	// The validation of repairs is that their conditions are read from the API server; it is part of their execution.
	if err := ps.begin(ctx, cmd); err != nil {
		return false, err
	}
	cmd.started = p.now
	pl.exec.start(ctx, cmd)
	return true, nil
}

// recompute computes the command of a plan again, if simulate is set. The obstacle is why it is not possible.
func (pl *planner) recompute(ctx context.Context, p *pass, plan *opsv1alpha1.DisruptionPlan, simulate bool) (command, *disrupt.Obstacle) {
	at := slices.IndexFunc(pl.methods, func(m disrupt.Method) bool { return m.Name == plan.Spec.Method })
	set, all, o := pl.candidatesOf(ctx, p, plan, at)
	if o != nil || !simulate {
		return command{}, o
	}
	m := pl.methods[at]
	budgets := p.allowancesFor(m.Reason, pl.reads.pledged(p.view, command{})).Budgets()
	session := disrupt.Session{Budgets: budgets}
	if m.Simulates != disrupt.NoSimulation {
		sim, err := pl.reads.simContext(ctx, p.view, all, p.underway)
		if err != nil {
			return command{}, &disrupt.Obstacle{Code: disrupt.NotReached, Node: set[0].Node}
		}
		session = sim.session(pl.Clock, m, budgets, pl.Clock.Now().Add(m.Timeout))
	}
	session.Grant = p.granter(pl.Store.Pools)
	pl.letTerminateFirst(ctx, p.view, &session, m)
	before := p.grants[set[0].Node.Pool]
	work, o := m.Recompute(session, set, approvedOf(&plan.Spec))
	if o != nil {
		if g := p.grants[set[0].Node.Pool]; g != before {
			g.giveBack()
		}
		return command{}, o
	}
	pl.proposed++
	cmd := command{id: string(uuid.NewUUID()), serial: pl.proposed, method: m, plan: work, decided: p.now, due: p.now, approvedBy: plan.Name}
	if work.Static {
		cmd.reservation = p.grants[work.Candidates[0].Node.Pool]
	}
	return cmd, nil
}

// candidatesOf are the nodes of a plan as candidates of its method, the at-th, and all candidates. The obstacle is why one of them is none.
func (pl *planner) candidatesOf(ctx context.Context, p *pass, plan *opsv1alpha1.DisruptionPlan, at int) (set, all []disrupt.Candidate, o *disrupt.Obstacle) {
	if at < 0 {
		return nil, nil, &disrupt.Obstacle{Code: disrupt.OtherResult, Node: &model.Node{NodeName: plan.Spec.Nodes[0].Name}}
	}
	m, in := pl.methods[at], p.qualifyInput(p.inCommand)
	in.Proposals = nil
	all, obstacles := disrupt.Qualify(in)
	if m.Repairs() {
		in.RebootedTooOften = pl.exec.reboots.exhausted(p.claims, p.now)
		all, obstacles = in.Unhealthy()
	}
	pl.reads.prices.set(ctx, p.pools, all)
	wanted, refused := m.FilterNodes(all)
	index := map[string]int{}
	for i, planned := range plan.Spec.Nodes {
		index[planned.NodeClaim] = i + 1
	}
	own := slices.DeleteFunc(wanted, func(c disrupt.Candidate) bool { return index[c.Node.ClaimName] == 0 })
	fit, blocked := m.FilterPods(own, pl.reads.podBlocks(ctx, p.view, own))
	p.setDrainRounds(fit)
	if len(fit) == len(plan.Spec.Nodes) {
		slices.SortFunc(fit, func(a, b disrupt.Candidate) int { return index[a.Node.ClaimName] - index[b.Node.ClaimName] })
		return fit, all, nil
	}
	for _, found := range slices.Concat(obstacles, refused, blocked) {
		if found.Node != nil && index[found.Node.ClaimName] > 0 {
			return nil, nil, &found
		}
	}
	return nil, nil, &disrupt.Obstacle{Code: disrupt.NotReached, Node: &model.Node{NodeName: plan.Spec.Nodes[0].Name}}
}
