package disruption

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// rebooting turns node repair on with a policy that reboots nodes with the condition DiskBroken, without a limit or with one.
func (w *harness) rebooting(grace *time.Duration) {
	w.deps.Cloud.RepairPolicies = []cloud.RepairPolicy{
		{ConditionType: corev1.NodeReady, ConditionStatus: corev1.ConditionFalse, TolerationDuration: time.Hour, Action: cloud.ReplaceNode},
		{ConditionType: "DiskBroken", ConditionStatus: corev1.ConditionTrue, ReasonRegex: ".*", TerminationGracePeriod: grace, Action: cloud.RebootNode},
	}
	w.repairs(false)
}

// rebooted ends the reboot of a node, which stays broken.
func (w *harness) rebooted(name string) {
	w.Helper()
	claim := w.claim(name)
	stored := claim.DeepCopy()
	condition.For(claim, time.Now()).False(v1.ConditionTypeRebooting, v1.RebootReasonSucceeded, "node rebooted and rejoined the cluster")
	if err := w.client.Status().Patch(w.Context(), claim, client.MergeFrom(stored)); err != nil {
		w.Fatal(err)
	}
}

// requested is whether the reboot of a node is requested.
func (w *harness) requested(name string) bool {
	return condition.Status(w.claim(name), v1.ConditionTypeRebooting) == metav1.ConditionTrue
}

func TestCommittingAReboot(t *testing.T) {
	t.Attr("covers", "N045")
	t.Attr("covers", "N046")
	t.Attr("covers", "N047")
	t.Attr("covers", "N048")
	t.Attr("covers", "N049")
	inBubble(t, "the request has the limit, the reason and the cause", func(w *harness) {
		t.Attr("covers", "N200")
		t.Attr("covers", "N192")
		grace := limit
		w.rebooting(&grace)
		w.pool("pool", budget("1"))
		w.addNode("pool", "a", notConsolidatable, sick, func(m *nodeAndClaim) {
			m.claim.Spec.TerminationGracePeriod = &metav1.Duration{Duration: time.Minute}
		})
		w.addNode("pool", "b", notConsolidatable, sick)
		for _, name := range []string{"c", "d", "e", "f", "g", "h"} {
			w.addNode("pool", name, notConsolidatable)
		}
		w.pod("a", "web", asks(100))
		w.pod("b", "api", asks(200), func(p *corev1.Pod) { p.Spec.Priority = new(int32(1000)) })
		defer w.run()()
		w.pass(15 * time.Second)
		w.wantDeleted()
		claim := w.claim("a")
		if !w.requested("a") || w.requested("b") {
			t.Fatalf("reboots are requested: a %t, b %t; the budget allows one", w.requested("a"), w.requested("b"))
		}
		if got := claim.Annotations[v1.RebootTerminationGracePeriodAnnotationKey]; got != "1m0s" {
			t.Errorf("the limit is %q, want that of the NodeClaim", got)
		}
		progress := condition.For(claim, time.Now()).Get(v1.ConditionTypeRebooting)
		if progress.Reason != "RebootRequested" || progress.Message != "rebooting for DiskBroken/IOError" {
			t.Errorf("the condition is %+v", progress)
		}
		if why := condition.For(claim, time.Now()).Get(v1.ConditionTypeDisruptionReason); why == nil || why.Reason != "Unhealthy" {
			t.Errorf("the reason for the disruption is %+v", why)
		}
		if disrupted(w.node("a")) {
			t.Error("the node is tainted as disrupted")
		}
		w.wantLog("committed node reboot")
		w.wantMetric("karpenter_voluntary_disruption_decisions_total", 1, "decision=reboot", "reason=unhealthy")
		w.wantMetric("karpenter_nodeclaims_unhealthy_disrupted_total", 1, "condition=disk_broken", "termination_mode=eventual")
		w.wantMetric("karpenter_pods_disruption_initiated_total", 1, "reason=unhealthy")
	})
	inBubble(t, "a limit of an earlier reboot is removed", func(w *harness) {
		w.rebooting(nil)
		w.pool("pool", budget("1"))
		w.addNode("pool", "a", notConsolidatable, sick, func(m *nodeAndClaim) {
			m.claim.Annotations = map[string]string{v1.RebootTerminationGracePeriodAnnotationKey: "5m0s"}
		})
		defer w.run()()
		w.pass(15 * time.Second)
		if text, ok := w.claim("a").Annotations[v1.RebootTerminationGracePeriodAnnotationKey]; ok || !w.requested("a") {
			t.Errorf("the limit is %q; requested: %t", text, w.requested("a"))
		}
	})
	inBubble(t, "a failed write is no attempt", func(w *harness) {
		w.rebooting(nil)
		w.pool("pool", budget("1"))
		w.addNode("pool", "a", notConsolidatable, sick)
		w.fail(func(op string, obj runtime.Object) error {
			if _, ok := obj.(*v1.NodeClaim); ok && op != "get" && op != "list" {
				return errors.New("the server is on fire")
			}
			return nil
		})
		defer w.run()()
		w.pass(3 * time.Minute)
		if w.requested("a") {
			t.Fatal("the reboot is requested")
		}
		w.heal()
		w.pass(6 * time.Minute) // longer than the backoff after the failures
		if !w.requested("a") {
			t.Error("the reboot is not requested")
		}
	})
}

func TestTheThirdRebootInADayIsAReplacement(t *testing.T) {
	t.Attr("covers", "N050")
	inBubble(t, "a node that stays broken is rebooted twice, and then replaced", func(w *harness) {
		w.rebooting(nil)
		w.pool("pool", budget("1"))
		w.addNode("pool", "a", notConsolidatable, sick)
		defer w.run()()
		for attempt := 1; attempt <= 2; attempt++ {
			w.pass(15 * time.Second)
			if !w.requested("a") {
				t.Fatalf("reboot %d is not requested", attempt)
			}
			w.rebooted("a")
		}
		w.pass(15 * time.Second)
		w.wantDeleted("a")
		w.wantLog("reboot-escalated=true")
	})
}

func TestRebootsAreForgottenAfterADay(t *testing.T) {
	t.Attr("covers", "N050")
	r, now := &reboots{at: map[types.UID][]time.Time{}}, time.Unix(1e6, 0)
	claims := map[string]*v1.NodeClaim{"a": {ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "1"}}}
	if !r.take("1", now) || !r.take("1", now.Add(time.Hour)) || r.take("1", now.Add(2*time.Hour)) {
		t.Error("want two reboots")
	}
	if !r.exhausted(claims, now.Add(23*time.Hour))["a"] {
		t.Error("within a day a third reboot is possible")
	}
	if r.exhausted(claims, now.Add(24*time.Hour))["a"] || !r.take("1", now.Add(24*time.Hour)) {
		t.Error("after a day no reboot is possible")
	}
	r.giveBack("1")
	if r.exhausted(claims, now.Add(24*time.Hour))["a"] {
		t.Error("a reboot that was not requested counts")
	}
	if r.exhausted(nil, now.Add(24*time.Hour)); len(r.at) != 0 {
		t.Errorf("NodeClaims that are gone are kept: %v", r.at)
	}
}
