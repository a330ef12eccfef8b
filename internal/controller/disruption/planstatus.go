package disruption

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/condition"
	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	"github.com/karpenter-anew/karpenter/internal/ledger"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
	"github.com/karpenter-anew/karpenter/internal/problem"
)

// move writes a phase to a plan, with what changes beside it, and records that. A plan that another client wrote meanwhile is a conflict.
func (ps *plans) move(
	ctx context.Context, now time.Time, plan *opsv1alpha1.DisruptionPlan, to opsv1alpha1.PlanPhase, reason, message string, launched ...string,
) error {
	stored := plan.DeepCopy()
	plan.Status.Phase, plan.Status.WaitingFor = to, ""
	if len(launched) > 0 {
		plan.Status.Launched = launched
	}
	meta.SetStatusCondition(&plan.Status.Conditions, metav1.Condition{
		Type: string(to), Status: metav1.ConditionTrue, Reason: reason, Message: condition.TruncateMessage(message), LastTransitionTime: metav1.NewTime(now),
		ObservedGeneration: plan.Generation,
	})
	if err := ps.Client.Status().Patch(ctx, plan, optimistic(stored)); err != nil {
		*plan = *stored
		return fmt.Errorf("writing the status of disruption plan %q: %w", plan.Name, err)
	}
	ps.record(plan, reason, message)
	return nil
}

// record shows the phase that a plan came into in the log, the metrics, the ledger and a notification.
func (ps *plans) record(plan *opsv1alpha1.DisruptionPlan, reason, message string) {
	spec := &plan.Spec
	event := &ledger.PlanEvent{
		Name: plan.Name, UID: string(plan.UID), Phase: string(plan.Status.Phase), Reason: string(spec.Reason), Decision: spec.Action, Method: spec.Method,
		Policy: spec.OperationsPolicy.Name, Why: reason, Text: message,
	}
	if spec.Decision != nil {
		event.By = spec.Decision.By
	}
	for _, n := range spec.Nodes {
		event.Nodes, event.NodeClaims, event.NodePools = append(event.Nodes, n.Name), append(event.NodeClaims, n.NodeClaim), append(event.NodePools, n.NodePool)
	}
	slices.Sort(event.NodePools)
	event.NodePools = slices.Compact(event.NodePools)
	args := []any{
		logfield.DisruptionPlan(plan.Name), logfield.Phase(event.Phase), logfield.Reason(observe.SnakeCase(event.Reason)), logfield.Decision(spec.Action),
		logfield.Policy(event.Policy), logfield.Details(message),
	}
	if event.By != "" {
		args = append(args, logfield.DecidedBy(event.By))
	}
	ps.Log.Info("disruption plan "+phaseText(plan.Status.Phase), args...)
	ps.Metrics.Disruption.Plans.WithLabelValues(event.Phase, observe.SnakeCase(event.Reason)).Inc()
	if ps.Books != nil {
		ps.Books.Append(ledger.Record{Kind: ledger.KindPlan, Plan: event})
	}
	if ps.Notifier != nil {
		ps.Notifier.Plan(plan)
	}
}

// phaseText is a phase in a sentence.
func phaseText(p opsv1alpha1.PlanPhase) string {
	return map[opsv1alpha1.PlanPhase]string{
		opsv1alpha1.PlanProposed: "proposed", opsv1alpha1.PlanApproved: "approved", opsv1alpha1.PlanRejected: "rejected", opsv1alpha1.PlanExecuting: "is executed",
		opsv1alpha1.PlanExecuted: "executed", opsv1alpha1.PlanFailed: "failed", opsv1alpha1.PlanVoided: "voided", opsv1alpha1.PlanExpired: "expired",
	}[p]
}

// wait writes why an approved plan is not executed yet.
func (ps *plans) wait(ctx context.Context, plan *opsv1alpha1.DisruptionPlan, why string) error {
	if why = condition.TruncateMessage(why); plan.Status.WaitingFor == why {
		return nil
	}
	stored := plan.DeepCopy()
	plan.Status.WaitingFor = why
	if err := ps.Client.Status().Patch(ctx, plan, optimistic(stored)); err != nil {
		*plan = *stored
		return fmt.Errorf("writing the status of disruption plan %q: %w", plan.Name, err)
	}
	if ps.Notifier != nil && stored.Status.WaitingFor == "" { // what it waits for may change often
		ps.Notifier.Plan(plan)
	}
	return nil
}

// prune deletes the plans that ended long ago, and the oldest of those that are too many. Rejected ones that keep proposals back go last.
func (ps *plans) prune(ctx context.Context, v view) {
	var ended []*opsv1alpha1.DisruptionPlan
	for _, plan := range v.plans {
		if plan.Status.Phase.Final() {
			ended = append(ended, plan)
		}
	}
	pausing := func(plan *opsv1alpha1.DisruptionPlan) int {
		if problem.PausesProposals(plan, v.now) {
			return 1
		}
		return 0
	}
	slices.SortFunc(ended, func(a, b *opsv1alpha1.DisruptionPlan) int {
		return cmp.Or(cmp.Compare(pausing(a), pausing(b)), problem.PlanEnded(a).Compare(problem.PlanEnded(b)), cmp.Compare(a.Name, b.Name))
	})
	for i, plan := range ended {
		if len(ended)-i <= maxEndedPlans && v.now.Sub(problem.PlanEnded(plan)) < keepEnded {
			continue
		}
		if err := ps.Client.Delete(ctx, plan, client.Preconditions{UID: &plan.UID}); client.IgnoreNotFound(err) != nil {
			ps.Log.Error("cannot delete a disruption plan that has ended", logfield.DisruptionPlan(plan.Name), logfield.Error(err))
		}
	}
}
