package disruption

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

// repairs turns node repair on, by the policies of the cloud; unlimited takes the termination grace periods from them.
func (w *harness) repairs(unlimited bool) {
	w.Helper()
	var list []cloud.RepairPolicy
	for _, p := range w.deps.Cloud.RepairPolicies {
		if unlimited {
			p.TerminationGracePeriod = nil
		}
		list = append(list, p)
	}
	policies, err := translate.RepairPolicies(list)
	if err != nil {
		w.Fatal(err)
	}
	w.store.Health.Use(policies, w.deps.Log)
	w.deps.Repair = true
}

// limit is the termination grace period of the repair policy of these tests.
const limit = 5 * time.Minute

// repairing turns node repair on for nodes with the condition DiskBroken.
func (w *harness) repairing() {
	grace := limit
	w.deps.Cloud.RepairPolicies = []cloud.RepairPolicy{
		{ConditionType: corev1.NodeReady, ConditionStatus: corev1.ConditionFalse, TolerationDuration: time.Hour, Action: cloud.ReplaceNode},
		{ConditionType: "DiskBroken", ConditionStatus: corev1.ConditionTrue, ReasonRegex: ".*", TerminationGracePeriod: &grace, Action: cloud.ReplaceNode},
	}
	w.repairs(false)
}

// sick gives a node the condition DiskBroken.
func sick(m *nodeAndClaim) {
	m.node.Status.Conditions = append(m.node.Status.Conditions, corev1.NodeCondition{
		Type: "DiskBroken", Status: corev1.ConditionTrue, Reason: "IOError", LastTransitionTime: metav1.NewTime(time.Now().Add(-time.Minute)),
	})
}

// deadline is the termination deadline of a NodeClaim; the zero time for none. The annotation and its format are those of version 1.14.
func (w *harness) deadline(name string) time.Time {
	at, _ := time.Parse(time.RFC3339, w.claim(name).Annotations["karpenter.sh/nodeclaim-termination-timestamp"])
	return at
}

func TestRepairOfANode(t *testing.T) {
	t.Attr("covers", "N001")
	t.Attr("covers", "N039")
	t.Attr("covers", "N043")
	t.Attr("covers", "N044")
	t.Attr("covers", "N195")
	t.Attr("covers", "N196")
	t.Attr("covers", "N037")
	inBubble(t, "an empty node is deleted with a limit for its drain", func(w *harness) {
		w.repairing()
		w.pool("pool", budget("1"))
		w.addNode("pool", "a", notConsolidatable, sick)
		defer w.run()()
		w.pass(11 * time.Second)
		w.wantDeleted("a")
		if at := w.deadline("a"); at.Before(time.Now().Add(limit-20*time.Second)) || at.After(time.Now().Add(limit)) {
			t.Errorf("the termination deadline is %s, now is %s", at, time.Now())
		}
		w.wantMetric("karpenter_nodeclaims_disrupted_total", 1, "reason=unhealthy", "nodepool=pool", "consolidation_policy=", "termination_mode=graceful")
		w.wantMetric("karpenter_nodeclaims_unhealthy_disrupted_total", 1, "condition=disk_broken", "nodepool=pool", "termination_mode=eventual")
		w.wantMetric("karpenter_voluntary_disruption_decisions_total", 1, "decision=delete", "reason=unhealthy", "consolidation_type=")
		w.wantEvents("DisruptionTerminating node/a: Disrupting Node: Unhealthy", 1)
		w.wantMetric("karpenter_pods_disruption_initiated_total", 0, "reason=unhealthy")
		w.wantLog("selected repair policy")
		for _, want := range []string{
			"condition=DiskBroken", "status=True", "reason=IOError", "reason-regex=.*", "fallback=false", "action=ReplaceNode", "eligible-at=",
			"termination-grace-period=5m0s", "termination-grace-period-condition=DiskBroken",
		} {
			w.wantLog(want)
		}
	})
	inBubble(t, "a node that is healthy again behind a watch that is stuck is left alone", func(w *harness) {
		t.Attr("covers", "N489")
		w.repairing()
		w.pool("pool", budget("1"))
		w.addNode("pool", "a", notConsolidatable, sick)
		healthy := w.node("a")
		healthy.Status.Conditions[len(healthy.Status.Conditions)-1].Status = corev1.ConditionFalse
		w.deps.Live = lagging{w.client, healthy}
		defer w.run()()
		w.pass(11 * time.Second)
		w.wantDeleted()
		w.wantLog(`no longer has the condition DiskBroken with status True`)
	})
	inBubble(t, "a node that is replaced by one like it saves nothing, and costs nothing", func(w *harness) {
		w.repairing()
		types := ondemand(1)
		w.live(types)
		w.pool("pool", budget("100%"), usable)
		w.addNode("pool", "a", notConsolidatable, sick, func(m *nodeAndClaim) {
			for key, value := range map[string]string{
				corev1.LabelInstanceTypeStable: "x1", corev1.LabelTopologyZone: "zone-1", v1.CapacityTypeLabelKey: v1.CapacityTypeOnDemand,
			} {
				m.node.Labels[key], m.claim.Labels[key] = value, value
			}
			m.node.Status.Capacity, m.node.Status.Allocatable = types[0].Capacity, types[0].Capacity
		})
		w.pod("a", "web", asks(900))
		defer w.run()()
		w.pass(11 * time.Second)
		w.wantLog("[a] -> [1 replacement] (savings: $0.00)")
	})
	t.Run("deadlines", testDeadlines)
}

func testDeadlines(t *testing.T) {
	t.Attr("covers", "N041 N540")
	inBubble(t, "an earlier deadline stays, and a later one or one that cannot be read does not", func(w *harness) {
		w.repairing()
		w.pool("pool", budget("5"))
		soon := time.Now().Add(time.Minute).UTC().Truncate(time.Second)
		for name, text := range map[string]string{"early": soon.Format(time.RFC3339), "late": soon.Add(time.Hour).Format(time.RFC3339), "odd": "soon"} {
			w.addNode("pool", name, notConsolidatable, sick, func(m *nodeAndClaim) {
				m.claim.Annotations = map[string]string{v1.NodeClaimTerminationTimestampAnnotationKey: text}
			})
		}
		for _, name := range []string{"b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m"} {
			w.addNode("pool", name, notConsolidatable)
		}
		defer w.run()()
		w.pass(40 * time.Second)
		w.wantDeleted("early", "late", "odd")
		if at := w.deadline("early"); !at.Equal(soon) {
			t.Errorf("the earlier deadline has become %s", at)
		}
		for _, name := range []string{"late", "odd"} {
			if at := w.deadline(name); at.IsZero() || at.After(time.Now().Add(limit)) {
				t.Errorf("the deadline of %s is %s", name, at)
			}
		}
	})
	inBubble(t, "the time in which a replacement comes up is no part of the limit", func(w *harness) {
		t.Attr("covers", "N042")
		l := w.live(ondemand(1))
		w.repairing()
		w.pool("pool", budget("1"), usable)
		l.of("pool", "a", "x1")
		w.pod("a", "web", asks(900))
		node := w.node("a")
		before := node.DeepCopy()
		sick(&nodeAndClaim{node: node})
		if err := w.client.Status().Patch(w.Context(), node, client.MergeFrom(before)); err != nil {
			w.Fatal(err)
		}
		l.launch.Store(int64(3 * time.Minute))
		defer w.run()()
		w.pass(2 * time.Minute)
		w.wantDeleted()
		if at := w.deadline("a"); !at.IsZero() {
			t.Errorf("the deadline is %s while the replacement is launched", at)
		}
		for at := (time.Time{}); at.IsZero(); at = w.deadline("a") {
			if w.pass(time.Second); w.age() > 10*time.Minute {
				w.Fatalf("no deadline after ten minutes, events %q", w.events)
			}
		}
		if at := w.deadline("a"); at.Before(time.Now().Add(limit - 10*time.Second)) {
			t.Errorf("the deadline is %s, now is %s: less than the limit is left", at, time.Now())
		}
	})
	inBubble(t, "a failing patch is retried, and the node is deleted afterwards", func(w *harness) {
		w.repairing()
		w.pool("pool", budget("1"))
		w.addNode("pool", "a", notConsolidatable, sick)
		w.fail(func(op string, obj runtime.Object) error {
			if claim, ok := obj.(*v1.NodeClaim); ok && op == "patch" && claim.Annotations[v1.NodeClaimTerminationTimestampAnnotationKey] != "" {
				return errors.New("the server is on fire")
			}
			return nil
		})
		defer w.run()()
		w.pass(15 * time.Second)
		w.wantDeleted()
		w.heal()
		w.pass(10 * time.Second)
		w.wantDeleted("a")
	})
}

func TestEventsOfRepair(t *testing.T) {
	t.Attr("covers", "N204")
	t.Attr("covers", "N206")
	t.Attr("covers", "N210")
	t.Attr("covers", "N199")
	t.Attr("covers", "N026")
	inBubble(t, "each node that is left alone says why", func(w *harness) {
		w.repairing()
		w.pool("frozen", budget("0"))
		w.pool("calm", budget("0"))
		w.pool("tripped", budget("100%"))
		w.addNode("frozen", "vetoed", notConsolidatable, sick, func(m *nodeAndClaim) {
			m.node.Annotations = map[string]string{v1.DoNotRepairAnnotationKey: "true"}
		})
		for _, name := range []string{"b", "c"} {
			w.addNode("tripped", name, notConsolidatable, sick)
		}
		w.addNode("calm", "d", notConsolidatable)
		defer w.run()()
		w.pass(15 * time.Second)
		w.wantDeleted()
		w.wantEvent(`DisruptionBlocked node/vetoed: repair is blocked through the "karpenter.sh/do-not-repair" annotation`)
		w.wantEvent(`DisruptionBlocked nodeclaim/vetoed: repair is blocked through the "karpenter.sh/do-not-repair" annotation`)
		for _, object := range []string{"node/b", "nodeclaim/b", "nodepool/tripped"} {
			w.wantEvents("NodeRepairBlocked "+object+`: more than 20% of nodes in nodepool "tripped" are unhealthy`, 1)
		}
		w.wantEvents("DisruptionBlocked nodepool/frozen: No allowed disruptions for disruption reason Unhealthy due to blocking budget", 1)
		w.wantNoEvent("DisruptionBlocked nodepool/calm: No allowed disruptions for disruption reason Unhealthy")
		w.wantMetric("karpenter_voluntary_disruption_eligible_nodes", 2, "reason=unhealthy") // those that are not vetoed
	})
}

func TestWithoutRepairNothingOfItExists(t *testing.T) {
	t.Attr("covers", "N002")
	t.Attr("covers", "N199")
	inBubble(t, "an unhealthy node is left alone, and no metric has the reason", func(w *harness) {
		w.pool("pool", budget("1"))
		w.addNode("pool", "a", notConsolidatable, sick)
		defer w.run()()
		w.pass(time.Minute)
		w.wantDeleted()
		families, err := w.registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			for _, m := range family.GetMetric() {
				for _, l := range m.GetLabel() {
					if strings.EqualFold(l.GetValue(), "unhealthy") {
						t.Errorf("%s has the label %s=%s", family.GetName(), l.GetName(), l.GetValue())
					}
				}
			}
		}
	})
}
