package disruption

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/ledger"
)

// verified stands for the admission policy of an API server. package approval tests it on a real one.
type verified struct {
	mu        sync.Mutex
	admission opsv1alpha1.PlanAdmission
	err       error
}

func (a *verified) Verify(context.Context) (opsv1alpha1.PlanAdmission, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.admission, a.err
}

func (a *verified) set(uid string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.admission, a.err = opsv1alpha1.PlanAdmission{PolicyUID: uid, PolicyGeneration: 1, BindingUID: uid, BindingGeneration: 1}, err
}

// approvals makes a policy ask for approval.
func (w *harness) approvals(spec string) *verified {
	w.Helper()
	a := &verified{}
	a.set("policy", nil)
	w.deps.Admission = a
	w.policy("approval", spec)
	return a
}

// plans are the DisruptionPlans by name, as "phase reason".
func (w *harness) plans() []opsv1alpha1.DisruptionPlan {
	w.Helper()
	var list opsv1alpha1.DisruptionPlanList
	if err := w.client.List(w.Context(), &list); err != nil {
		w.Fatal(err)
	}
	return list.Items
}

// onlyPlan is the single plan that has not ended, or the single plan.
func (w *harness) onlyPlan() *opsv1alpha1.DisruptionPlan {
	w.Helper()
	all := w.plans()
	var open []*opsv1alpha1.DisruptionPlan
	for i := range all {
		if !all[i].Status.Phase.Final() || len(all) == 1 {
			open = append(open, &all[i])
		}
	}
	if len(open) != 1 {
		w.Fatalf("after %s: %d open plans among %d, want 1:\n%s", w.age(), len(open), len(all), describePlans(all))
	}
	return open[0]
}

func describePlans(all []opsv1alpha1.DisruptionPlan) string {
	var out []string
	for i := range all {
		p := &all[i]
		why := ""
		if c := meta.FindStatusCondition(p.Status.Conditions, string(p.Status.Phase)); c != nil {
			why = c.Reason + ": " + c.Message
		}
		out = append(out, fmt.Sprintf("%s %s (%s) %s", p.Name, p.Status.Phase, why, p.Status.WaitingFor))
	}
	return strings.Join(out, "\n")
}

// wantPhase checks the phase of a plan, and the reason for it.
func (w *harness) wantPhase(name string, want opsv1alpha1.PlanPhase, reason string) {
	w.Helper()
	p := &opsv1alpha1.DisruptionPlan{}
	if err := w.client.Get(w.Context(), client.ObjectKey{Name: name}, p); err != nil {
		w.Fatal(err)
	}
	c := meta.FindStatusCondition(p.Status.Conditions, string(want))
	if p.Status.Phase != want || c == nil || c.Reason != reason {
		w.Errorf("after %s: plan %s, want %s (%s)", w.age(), describePlans([]opsv1alpha1.DisruptionPlan{*p}), want, reason)
	}
}

// decide adds a decision to a plan.
func (w *harness) decide(name string, verdict opsv1alpha1.Verdict) {
	w.Helper()
	p := &opsv1alpha1.DisruptionPlan{}
	if err := w.client.Get(w.Context(), client.ObjectKey{Name: name}, p); err != nil {
		w.Fatal(err)
	}
	p.Spec.Decision = &opsv1alpha1.PlanDecision{Verdict: verdict, By: "anna", Reason: "because"}
	if err := w.client.Update(w.Context(), p); err != nil {
		w.Fatal(err)
	}
}

// drifted adds a drifted node with a pod of a ReplicaSet.
func (w *harness) drifted(l *life, node string) {
	l.of("pool", node, "x1")
	w.pod(node, "web-"+node, asks(900))
	w.drift(node)
}

func TestApprovedPlans(t *testing.T) {
	inBubble(t, "a drifted node is replaced once its plan is approved", func(w *harness) {
		book := w.recorded()
		l := w.live(ondemand(1))
		w.approvals(`{approval: {mode: Always}}`)
		w.pool("pool", budget("1"), usable)
		w.drifted(l, "a")
		defer w.run()()
		w.pass(10 * time.Minute)
		p := w.onlyPlan()
		w.wantPhase(p.Name, opsv1alpha1.PlanProposed, "ApprovalRequired")
		if got := p.Spec; got.Method != "drift" || got.Action != "replace" || got.Risk != 1 || got.Nodes[0].Name != "a" || len(got.Replacements) != 1 ||
			got.Replacements[0].InstanceTypes[0] != "x1" || got.Evictions[0].Name != "web-a" || got.ExpiresAt.Sub(p.Status.Conditions[0].LastTransitionTime.Time) != 24*time.Hour {
			w.Errorf("the proposal: %+v", got)
		}
		w.wantMetric("karpenter_nodeclaims_created_total", 0, "reason=drifted")
		w.wantUnmarked("a")
		w.decide(p.Name, opsv1alpha1.VerdictApproved)
		w.pass(3 * time.Second)
		w.wantPhase(p.Name, opsv1alpha1.PlanExecuting, "Started")
		w.pass(2 * time.Minute)
		w.wantPhase(p.Name, opsv1alpha1.PlanExecuted, "Succeeded")
		w.wantMetric("karpenter_nodeclaims_created_total", 1, "reason=drifted")
		w.wantMetric("karpenter_nodeclaims_disrupted_total", 1, "reason=drifted")
		var phases []string
		for _, r := range w.records(book, ledger.Filter{Node: "a", Kinds: []ledger.Kind{ledger.KindPlan}}) {
			phases = append(phases, r.Plan.Phase+" "+r.Plan.By)
		}
		if got := strings.Join(phases, ","); got != "Proposed ,Approved anna,Executing anna,Executed anna" {
			w.Errorf("records %q", got)
		}
	})
	inBubble(t, "empty nodes are removed by one approved plan", func(w *harness) {
		w.approvals(`{approval: {mode: Above, above: {nodes: 1}}}`)
		w.pool("pool", budget("100%"))
		w.addNode("pool", "a")
		w.addNode("pool", "b")
		defer w.run()()
		w.pass(time.Minute)
		w.wantDeleted()
		w.decide(w.onlyPlan().Name, opsv1alpha1.VerdictApproved)
		w.pass(time.Minute)
		w.wantDeleted("a", "b")
	})
	inBubble(t, "what is below the thresholds needs no approval", func(w *harness) {
		w.approvals(`{approval: {mode: Above, above: {nodes: 1}}}`)
		w.pool("pool", budget("100%"))
		w.addNode("pool", "a")
		defer w.run()()
		w.pass(time.Minute)
		w.wantDeleted("a")
	})
	inBubble(t, "consolidation launches an approved instance type", func(w *harness) {
		l := w.live(ondemand(1, 4))
		w.approvals(`{approval: {mode: Always, reasons: [Underutilized]}}`)
		w.pool("pool", budget("1"), underutilized)
		l.of("pool", "a", "x4")
		w.pod("a", "web", asks(500))
		defer w.run()()
		w.pass(2 * time.Minute)
		p := w.onlyPlan()
		if got := p.Spec; got.Reason != "Underutilized" || got.SavingsPerHour != "3.000000" || got.Replacements[0].InstanceTypes[0] != "x1" {
			w.Errorf("the proposal: %+v", got)
		}
		w.wantUnmarked("a")
		w.decide(p.Name, opsv1alpha1.VerdictApproved)
		w.pass(2 * time.Minute)
		w.wantPhase(p.Name, opsv1alpha1.PlanExecuted, "Succeeded")
	})
	inBubble(t, "an approved plan waits for the end of a freeze", func(w *harness) {
		l := w.live(ondemand(1))
		w.approvals(`{approval: {mode: Always}}`)
		w.pool("pool", budget("1"), usable)
		w.drifted(l, "a")
		defer w.run()()
		w.pass(time.Minute)
		w.policy("sale", `{freeze: {until: "2000-01-01T00:20:00Z", why: sale}}`)
		p := w.onlyPlan()
		w.decide(p.Name, opsv1alpha1.VerdictApproved)
		w.pass(10 * time.Minute)
		w.wantPhase(p.Name, opsv1alpha1.PlanApproved, "Decided")
		if got := w.onlyPlan().Status.WaitingFor; !strings.Contains(got, "frozen until 2000-01-01T00:20:00Z") {
			w.Errorf("the plan waits for %q", got)
		}
		w.wantUnmarked("a")
		w.pass(12 * time.Minute)
		w.wantPhase(p.Name, opsv1alpha1.PlanExecuted, "Succeeded")
	})
	inBubble(t, "a proposed plan does not wait for the feature gate any more", func(w *harness) {
		l := w.live(ondemand(1))
		w.approvals(`{approval: {mode: Always}}`)
		w.pool("pool", budget("1"), usable)
		w.drifted(l, "a")
		defer w.run()()
		w.pass(time.Minute)
		p := w.onlyPlan()
		stored := p.DeepCopy()
		p.Status.WaitingFor = "the feature gate OperationsPolicy is off"
		if err := w.client.Status().Patch(w.Context(), p, client.MergeFrom(stored)); err != nil {
			w.Fatal(err)
		}
		w.pass(10 * time.Minute)
		w.wantPhase(p.Name, opsv1alpha1.PlanProposed, "ApprovalRequired")
		if got := w.onlyPlan().Status.WaitingFor; got != "" {
			w.Errorf("the plan waits for %q", got)
		}
	})
	inBubble(t, "an approved plan waits while its pods would move to a node that is starting", func(w *harness) {
		l := w.live(ondemand(1))
		w.approvals(`{approval: {mode: Always, reasons: [Drifted]}}`)
		w.pool("pool", budget("1"), usable)
		w.drifted(l, "a")
		defer w.run()()
		w.pass(time.Minute)
		p := w.onlyPlan()
		l.of("pool", "b", "x1")
		starting := w.node("b")
		delete(starting.Labels, v1.NodeInitializedLabelKey)
		if err := w.client.Update(w.Context(), starting); err != nil {
			w.Fatal(err)
		}
		w.decide(p.Name, opsv1alpha1.VerdictApproved)
		w.pass(5 * time.Minute)
		w.wantPhase(p.Name, opsv1alpha1.PlanApproved, "Decided")
		if got := w.onlyPlan().Status.WaitingFor; !strings.Contains(got, "would schedule against uninitialized nodeclaim/b") {
			w.Errorf("the plan waits for %q", got)
		}
		w.remove(w.node("b"))
		w.remove(w.claim("b"))
		w.pass(5 * time.Minute)
		w.wantPhase(p.Name, opsv1alpha1.PlanExecuted, "Succeeded")
	})
	inBubble(t, "approval survives a restart, execution does not", func(w *harness) {
		l := w.live(ondemand(1))
		w.approvals(`{approval: {mode: Always}}`)
		w.pool("pool", budget("1"), usable)
		w.drifted(l, "a")
		stop := w.run()
		w.pass(time.Minute)
		stop()
		p := w.onlyPlan()
		w.decide(p.Name, opsv1alpha1.VerdictApproved)
		l.launch.Store(int64(time.Hour))
		stop = w.run()
		w.pass(time.Minute)
		w.wantPhase(p.Name, opsv1alpha1.PlanExecuting, "Started")
		stop()
		defer w.run()()
		w.pass(time.Minute)
		w.wantPhase(p.Name, opsv1alpha1.PlanFailed, "Interrupted")
		if w.claim("a").DeletionTimestamp != nil {
			w.Error("the node goes although the command was interrupted")
		}
	})
}

func TestPlansThatAreNotExecuted(t *testing.T) {
	proposed := func(w *harness) {
		l := w.live(ondemand(1))
		w.pool("pool", budget("1"), usable)
		w.drifted(l, "a")
	}
	inBubble(t, "a rejected plan is not proposed again until its inputs change", func(w *harness) {
		w.approvals(`{approval: {mode: Always}}`)
		proposed(w)
		defer w.run()()
		w.pass(time.Minute)
		p := w.onlyPlan()
		w.decide(p.Name, opsv1alpha1.VerdictRejected)
		w.pass(2 * time.Hour)
		w.wantPhase(p.Name, opsv1alpha1.PlanRejected, "Decided")
		if n := len(w.plans()); n != 1 {
			w.Errorf("%d plans: %s", n, describePlans(w.plans()))
		}
		w.pod("a", "another", asks(50))
		w.pass(time.Minute)
		if again := w.onlyPlan(); again.Name == p.Name {
			w.Error("the change is not proposed")
		}
		w.wantUnmarked("a")
	})
	inBubble(t, "a rejected plan is proposed again after a day", func(w *harness) {
		w.approvals(`{approval: {mode: Always}}`)
		proposed(w)
		defer w.run()()
		w.pass(time.Minute)
		p := w.onlyPlan()
		w.decide(p.Name, opsv1alpha1.VerdictRejected)
		w.pass(time.Minute)
		if n := len(w.plans()); n != 1 {
			w.Errorf("%d plans", n)
		}
		p = &w.plans()[0]
		stored := p.DeepCopy()
		meta.FindStatusCondition(p.Status.Conditions, string(opsv1alpha1.PlanRejected)).LastTransitionTime.Time = time.Now().Add(-24 * time.Hour)
		if err := w.client.Status().Patch(w.Context(), p, client.MergeFrom(stored)); err != nil {
			w.Fatal(err)
		}
		w.pass(time.Minute)
		if again := w.onlyPlan(); again.Name == p.Name {
			w.Error("the plan is not proposed again")
		}
	})
	inBubble(t, "a plan is voided when pods change", func(w *harness) {
		w.approvals(`{approval: {mode: Always}}`)
		proposed(w)
		stop := w.run()
		w.pass(time.Minute)
		stop()
		p := w.onlyPlan()
		w.decide(p.Name, opsv1alpha1.VerdictApproved)
		w.pod("a", "another", asks(50))
		defer w.run()()
		w.pass(time.Minute)
		w.wantPhase(p.Name, opsv1alpha1.PlanVoided, "PodsChanged")
		w.wantMetric("karpenter_nodeclaims_created_total", 0, "reason=drifted")
		w.wantUnmarked("a")
	})
	inBubble(t, "a plan is voided when its node is gone", func(w *harness) {
		w.approvals(`{approval: {mode: Always}}`)
		proposed(w)
		defer w.run()()
		w.pass(time.Minute)
		p := w.onlyPlan()
		w.remove(w.claim("a"))
		w.pass(time.Minute)
		w.wantPhase(p.Name, opsv1alpha1.PlanVoided, "NodeDeleting")
	})
	inBubble(t, "a plan is voided when its node does not drift any more", func(w *harness) {
		w.approvals(`{approval: {mode: Always}}`)
		proposed(w)
		defer w.run()()
		w.pass(time.Minute)
		p := w.onlyPlan()
		claim := w.claim("a")
		stored := claim.DeepCopy()
		meta.RemoveStatusCondition(&claim.Status.Conditions, v1.ConditionTypeDrifted)
		if err := w.client.Status().Patch(w.Context(), claim, client.MergeFrom(stored)); err != nil {
			w.Fatal(err)
		}
		w.pass(time.Minute)
		w.wantPhase(p.Name, opsv1alpha1.PlanVoided, "NotDrifted")
	})
	inBubble(t, "a plan expires and is proposed again", func(w *harness) {
		w.approvals(`{approval: {mode: Always, validFor: 10m}}`)
		proposed(w)
		defer w.run()()
		w.pass(9 * time.Minute)
		p := w.onlyPlan()
		w.pass(2 * time.Minute)
		w.wantPhase(p.Name, opsv1alpha1.PlanExpired, "Expired")
		if again := w.onlyPlan(); again.Name == p.Name {
			w.Error("the plan is not proposed again")
		}
		w.wantUnmarked("a")
	})
	inBubble(t, "nothing is proposed while approvals are not verified", func(w *harness) {
		a := w.approvals(`{approval: {mode: Always}}`)
		a.set("", errors.New("no policy"))
		proposed(w)
		defer w.run()()
		w.pass(10 * time.Minute)
		if n := len(w.plans()); n != 0 {
			w.Errorf("%d plans", n)
		}
		w.wantUnmarked("a")
		if got := w.toldAll("DisruptionBlocked node/a: "); !strings.Contains(got, "pproval is required and not available: no policy") {
			w.Errorf("events %q", got)
		}
		a.set("policy", nil)
		w.pass(time.Minute)
		w.onlyPlan()
	})
	inBubble(t, "a decision does not count when the admission policy was replaced", func(w *harness) {
		a := w.approvals(`{approval: {mode: Always}}`)
		proposed(w)
		stop := w.run()
		w.pass(time.Minute)
		stop()
		p := w.onlyPlan()
		w.decide(p.Name, opsv1alpha1.VerdictApproved)
		a.set("another", nil)
		defer w.run()()
		w.pass(time.Minute)
		w.wantPhase(p.Name, opsv1alpha1.PlanVoided, "DecisionNotVerified")
		w.wantUnmarked("a")
	})
	inBubble(t, "a status that says approved counts for nothing", func(w *harness) {
		w.approvals(`{approval: {mode: Always}}`)
		proposed(w)
		defer w.run()()
		w.pass(time.Minute)
		p := w.onlyPlan()
		stored := p.DeepCopy()
		p.Status.Phase = opsv1alpha1.PlanApproved
		if err := w.client.Status().Patch(w.Context(), p, client.MergeFrom(stored)); err != nil {
			w.Fatal(err)
		}
		w.pass(5 * time.Minute)
		w.wantMetric("karpenter_nodeclaims_created_total", 0, "reason=drifted")
		w.wantUnmarked("a")
	})
	inBubble(t, "a command that waits is dropped when a policy begins to ask", func(w *harness) {
		w.deps.Gates.OperationsPolicy = true
		a := &verified{}
		a.set("policy", nil)
		w.deps.Admission = a
		w.pool("pool", budget("100%"))
		w.addNode("pool", "a")
		defer w.run()()
		w.pass(8 * time.Second)
		w.policy("approval", `{approval: {mode: Always}}`)
		w.pass(time.Minute)
		w.wantDeleted()
		w.onlyPlan()
	})
}
