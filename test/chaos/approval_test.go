package main

import (
	"io"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// decided is a plan for the NodeClaim with this UID.
func decided(uid string, phase opsv1alpha1.PlanPhase, by string, verdict opsv1alpha1.Verdict) opsv1alpha1.DisruptionPlan {
	plan := opsv1alpha1.DisruptionPlan{Status: opsv1alpha1.DisruptionPlanStatus{Phase: phase}}
	plan.Spec.Nodes = []opsv1alpha1.PlannedNode{{NodeClaimUID: uid}}
	plan.Spec.Decision = &opsv1alpha1.PlanDecision{Verdict: verdict, By: by}
	return plan
}

func TestObserverFindsDisruptionWithoutApproval(t *testing.T) {
	const found = "nodeclaim a is disrupted, and no disruption plan with it was approved"
	for _, c := range []struct {
		name, want string
		plans      []opsv1alpha1.DisruptionPlan
		edit       func(*clusterState)
	}{
		{name: "no plan", want: found},
		{name: "a rejected plan", want: found, plans: []opsv1alpha1.DisruptionPlan{decided("a", opsv1alpha1.PlanRejected, approver, opsv1alpha1.VerdictRejected)}},
		{name: "a plan for another node", want: found, plans: []opsv1alpha1.DisruptionPlan{decided("b", opsv1alpha1.PlanExecuting, approver, opsv1alpha1.VerdictApproved)}},
		{name: "approved by the controller", want: found, plans: []opsv1alpha1.DisruptionPlan{decided("a", opsv1alpha1.PlanExecuting, "karpenter", opsv1alpha1.VerdictApproved)}},
		{name: "an approved plan", plans: []opsv1alpha1.DisruptionPlan{decided("a", opsv1alpha1.PlanExecuting, approver, opsv1alpha1.VerdictApproved)}},
		{name: "repair needs none", edit: func(p *clusterState) {
			p.claims[0].Status.Conditions = append(p.claims[0].Status.Conditions,
				metav1.Condition{Type: v1.ConditionTypeDisruptionReason, Status: metav1.ConditionTrue, Reason: repairReason})
		}},
		{name: "deleted by hand", edit: func(p *clusterState) { p.nodes[0].DeletionTimestamp = new(metav1.Now()) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := calm()
			p.claims[0].UID, p.claims[1].UID = "a", "b"
			p.nodes[0].Spec.Taints = []corev1.Taint{v1.DisruptedNoScheduleTaint()}
			p.plans = c.plans
			if c.edit != nil {
				c.edit(&p)
			}
			o := newObserver(nil, io.Discard, time.Now())
			o.approval = true
			o.want(4)
			o.judge(p)
			if got := strings.Join(o.findings, "; "); got != c.want {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}

func TestApprovalStays(t *testing.T) {
	o := newObserver(nil, io.Discard, time.Now())
	o.approval = true
	p := calm()
	p.claims[0].UID = types.UID("a")
	p.plans = []opsv1alpha1.DisruptionPlan{decided("a", opsv1alpha1.PlanApproved, approver, opsv1alpha1.VerdictApproved)}
	o.judge(p)
	p.plans = nil // plans that ended long ago are deleted
	p.nodes[0].Spec.Taints = []corev1.Taint{v1.DisruptedNoScheduleTaint()}
	o.judge(p)
	if len(o.findings) > 0 {
		t.Errorf("found %q", o.findings)
	}
}

func TestRestWithPlans(t *testing.T) {
	p := calm()
	p.claims[0].UID = "a"
	p.plans = []opsv1alpha1.DisruptionPlan{{ObjectMeta: metav1.ObjectMeta{Name: "drifted-1"}, Status: opsv1alpha1.DisruptionPlanStatus{Phase: opsv1alpha1.PlanApproved}}}
	if why := strings.Join(p.unrest(4, true), "; "); why != "disruption plan drifted-1 is Approved" {
		t.Errorf("the obstacle is %q", why)
	}
	p.plans = []opsv1alpha1.DisruptionPlan{decided("a", opsv1alpha1.PlanRejected, approver, opsv1alpha1.VerdictRejected)}
	p.claims[0].Status.Conditions = append(p.claims[0].Status.Conditions, is(v1.ConditionTypeDrifted))
	p.claims[0].Labels[coresLabel] = "14"
	if why := p.unrest(4, true); len(why) > 0 {
		t.Errorf("a node whose disruption was rejected stays as it is, and the obstacle is %q", why)
	}
}

func TestDecisionsOfASeed(t *testing.T) {
	verdicts := map[opsv1alpha1.Verdict]int{}
	for i := range 600 {
		name := "drifted-" + strings.Repeat("x", i)
		verdict, after := decision(1, name)
		if again, same := decision(1, name); again != verdict || same != after || after < 0 || after >= longestDecision {
			t.Fatalf("plan %d: %s after %s, then %s after %s", i, verdict, after, again, same)
		}
		verdicts[verdict]++
	}
	if n := verdicts[opsv1alpha1.VerdictRejected]; n < 60 || n > 140 {
		t.Errorf("%d of 600 plans are rejected, want about 100", n)
	}
}
