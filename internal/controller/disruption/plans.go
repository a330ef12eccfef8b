package disruption

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/policy"
	"github.com/karpenter-anew/karpenter/internal/ledger"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
	"github.com/karpenter-anew/karpenter/internal/problem"
)

const (
	// maxOpenPlans is the most plans that wait to be decided or executed, maxEndedPlans the most ended ones that are kept.
	maxOpenPlans, maxEndedPlans = 100, 100
	// keepEnded is how long ended plans are kept.
	keepEnded = 7 * 24 * time.Hour
	// verifyInterval is how long a verification of the admission policy is good enough for proposals. Execution verifies it afresh.
	verifyInterval = 10 * time.Second
)

// Admission verifies that the API server admits only true approvals.
type Admission interface {
	// Verify returns what admits them. Its errors say why that is not verified; one with the method NotEnforced says that nothing admits them,
	// others that it is not known.
	Verify(ctx context.Context) (opsv1alpha1.PlanAdmission, error)
}

// plans proposes commands as DisruptionPlans, and lets approved ones be executed.
//
// Problem: a person decides minutes or hours after a command was found, and the process may end at any moment. Approach: the API object is the
// only memory. Each pass compares all plans with the cluster; an approved one is computed again for its nodes, validated as any command, and
// marked as Executing before anything is disrupted. Invariant: a plan is executed at most once, and only while its decision was admitted by the
// same policy that was in force when it was proposed.
//
// Only the loop uses it, except for note.
type plans struct {
	Deps
	queue *queue
	reads *gatherer
	// created are plans that the cache may not show yet, by name, with the time of their creation.
	created map[string]time.Time
	// postponed is when the command of an approved plan was dropped, by the name of the plan.
	postponed map[string]time.Time
	// verified is the last verification of the admission policy.
	verified struct {
		at        time.Time
		admission opsv1alpha1.PlanAdmission
		err       error
	}
	// complained is when it was last logged that approval is not available.
	complained time.Time

	mu sync.Mutex
	// outcomes are what became of commands, by the name of their plan, until that is written.
	outcomes map[string]planOutcome
}

// planOutcome is what became of the command of a plan.
type planOutcome struct {
	what      ledger.Outcome
	obstacles []disrupt.Obstacle
	failed    error
	launched  []string
}

// note remembers what became of a command until the loop writes it to its plan. It is safe for concurrent use.
func (ps *plans) note(cmd command, what ledger.Outcome, obstacles []disrupt.Obstacle, failed error) {
	if ps == nil || cmd.approvedBy == "" || what == ledger.CommandStarted {
		return
	}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.outcomes[cmd.approvedBy] = planOutcome{what: what, obstacles: obstacles, failed: failed, launched: cmd.launched}
}

func (ps *plans) outcome(plan string) (planOutcome, bool) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	o, ok := ps.outcomes[plan]
	return o, ok
}

func (ps *plans) forget(plan string) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	delete(ps.outcomes, plan)
}

// forgetOthers drops what is remembered of plans that no longer exist, such as those that a person deleted.
func (ps *plans) forgetOthers(names map[string]bool) {
	gone := func(name string) bool { return !names[name] }
	maps.DeleteFunc(ps.postponed, func(name string, _ time.Time) bool { return gone(name) })
	ps.mu.Lock()
	defer ps.mu.Unlock()
	maps.DeleteFunc(ps.outcomes, func(name string, _ planOutcome) bool { return gone(name) })
}

// read adds the DisruptionPlans to a view, each as this process wrote it last.
func (ps *plans) read(ctx context.Context, v *view) error {
	var list opsv1alpha1.DisruptionPlanList
	if err := ps.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing disruption plans: %w", err)
	}
	names := map[string]bool{}
	for i := range list.Items {
		names[list.Items[i].Name] = true
		delete(ps.created, list.Items[i].Name)
	}
	for name, at := range ps.created {
		if names[name] = true; v.now.Sub(at) > time.Minute {
			delete(ps.created, name)
		}
	}
	ps.forgetOthers(names)
	for name := range names {
		plan := &opsv1alpha1.DisruptionPlan{}
		switch err := ps.Client.Get(ctx, client.ObjectKey{Name: name}, plan); {
		case apierrors.IsNotFound(err):
		case err != nil:
			return fmt.Errorf("reading disruption plan %q: %w", name, err)
		case plan.DeletionTimestamp.IsZero():
			v.plans = append(v.plans, plan)
		}
	}
	slices.SortFunc(v.plans, func(a, b *opsv1alpha1.DisruptionPlan) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// asks returns what asks for approval of a command, and what the command does to pods.
func (ps *plans) asks(ctx context.Context, v view, work disrupt.Command) (policy.Demand, impact, bool, error) {
	pools := work.Pools()
	if !ps.Gates.OperationsPolicy || !v.operations.AsksForApproval(pools, work.Reason) {
		return policy.Demand{}, impact{}, false, nil
	}
	does, err := ps.reads.impactOf(ctx, v, work.Candidates)
	if err != nil {
		return policy.Demand{}, impact{}, true, err
	}
	d, asked := v.operations.Demand(pools, work.Reason, problem.ChangeOf(work, does.risk))
	return d, does, asked, nil
}

// verify returns what admits decisions. The result may be a few seconds old.
func (ps *plans) verify(ctx context.Context, now time.Time) (opsv1alpha1.PlanAdmission, error) {
	if ps.verified.at.IsZero() || now.Sub(ps.verified.at) >= verifyInterval {
		return ps.verifyNow(ctx, now)
	}
	return ps.verified.admission, ps.verified.err
}

func (ps *plans) verifyNow(ctx context.Context, now time.Time) (opsv1alpha1.PlanAdmission, error) {
	ps.verified.admission, ps.verified.err = opsv1alpha1.PlanAdmission{}, errors.New("no admission policy is known")
	if ps.Admission != nil {
		ps.verified.admission, ps.verified.err = ps.Admission.Verify(ctx)
	}
	ps.verified.at = now
	return ps.verified.admission, ps.verified.err
}

// propose proposes a command as a DisruptionPlan, and reports whether there is a new one. The obstacle is why there is none.
func (ps *plans) propose(ctx context.Context, p *pass, m disrupt.Method, work disrupt.Command, d policy.Demand, does impact) (bool, string) {
	admission, err := ps.verify(ctx, p.now)
	if err != nil {
		ps.complain(p.now, err)
		return false, "approval is required and not available: " + err.Error()
	}
	spec := planSpec(p.view, m, work, does)
	if !fits(&spec) {
		return false, fmt.Sprintf("approval is required, and the command for %d nodes is too large for a DisruptionPlan", len(spec.Nodes))
	}
	spec.OperationsPolicy = opsv1alpha1.AskingPolicy{Name: d.Policy, Why: d.Why}
	spec.Admission = admission
	spec.ExpiresAt.Time = p.now.Add(d.ValidFor)
	open, before := 0, ""
	var newest time.Time
	for _, plan := range p.plans {
		switch {
		case !plan.Status.Phase.Final():
			open++
		case sameProposal(&plan.Spec, &spec) && problem.PlanEnded(plan).After(newest):
			newest, before = problem.PlanEnded(plan), plan.Name+"/"+string(plan.UID)
		}
	}
	if open >= maxOpenPlans {
		return false, fmt.Sprintf("approval is required, and %d DisruptionPlans wait already", open)
	}
	plan := &opsv1alpha1.DisruptionPlan{Spec: spec}
	plan.Name = planName(&spec, before)
	switch err := ps.Client.Create(ctx, plan); {
	case apierrors.IsAlreadyExists(err):
		ps.created[plan.Name] = p.now
		return false, "DisruptionPlan " + plan.Name + " proposes this already"
	case err != nil:
		ps.Log.Error("cannot propose a disruption plan", logfield.DisruptionPlan(plan.Name), logfield.Error(err))
		return false, "approval is required, and a DisruptionPlan cannot be created: " + err.Error()
	}
	ps.created[plan.Name] = p.now
	p.plans = append(p.plans, plan)
	if err := ps.move(ctx, p.now, plan, opsv1alpha1.PlanProposed, "ApprovalRequired", d.Why); err != nil {
		ps.Log.Debug("cannot write the status of a disruption plan, retrying with the next pass", logfield.DisruptionPlan(plan.Name), logfield.Error(err))
	}
	return true, ""
}

// complain logs, once an hour, that approval is required and not available.
func (ps *plans) complain(now time.Time, err error) {
	if !ps.complained.IsZero() && now.Sub(ps.complained) < warnInterval {
		return
	}
	ps.complained = now
	ps.Log.Error("disruption has to be approved, but approvals cannot be verified: nothing is proposed, and no approved plan is executed", logfield.Error(err))
}

// begin marks the plan of a command as Executing, before anything is disrupted. An error means that the command must not start.
func (ps *plans) begin(ctx context.Context, cmd command) error {
	now := ps.Clock.Now()
	plan := &opsv1alpha1.DisruptionPlan{}
	if err := ps.Live.Get(ctx, client.ObjectKey{Name: cmd.approvedBy}, plan); err != nil {
		return fmt.Errorf("reading disruption plan %q: %w", cmd.approvedBy, err)
	}
	switch d := plan.Spec.Decision; {
	case !plan.DeletionTimestamp.IsZero():
		return fmt.Errorf("disruption plan %q is being deleted", plan.Name)
	case d == nil || d.Verdict != opsv1alpha1.VerdictApproved || plan.Status.Phase != opsv1alpha1.PlanApproved:
		return fmt.Errorf("disruption plan %q is not approved, its phase is %s", plan.Name, plan.Status.Phase)
	case !now.Before(plan.Spec.ExpiresAt.Time):
		return fmt.Errorf("disruption plan %q has expired", plan.Name)
	}
	admission, err := ps.verifyNow(ctx, now)
	if err != nil {
		return fmt.Errorf("verifying who approved disruption plan %q: %w", plan.Name, err)
	}
	if admission != plan.Spec.Admission {
		return fmt.Errorf("what admits decisions has changed since disruption plan %q was proposed", plan.Name)
	}
	return ps.move(ctx, now, plan, opsv1alpha1.PlanExecuting, "Started", "command "+cmd.id)
}
