package metering

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/autoscaling/v1beta1"
	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
)

// said sets a condition of a claim to True, now.
func (w *harness) said(claim *v1.NodeClaim, name string) *v1.NodeClaim {
	out := claim.DeepCopy()
	condition.For(out, w.Time.Now()).True(name)
	return out
}

func TestConditionsAreShown(t *testing.T) {
	w := newHarness(t)
	s := newStatuses(w.deps, ofNodeClaims(w.deps))
	s.put(w.Claim("a"), false)
	w.Time.Step(10 * time.Second)
	by := labels("name", "type", "status", "reason", "karpenter_sh_nodepool", "karpenter_kwok_sh_kwoknodeclass")
	const awaiting = "/Unknown/AwaitingReconciliation/pool/default "
	m := w.Metrics.Status.NodeClaims
	expect(t, "no condition is set", m.Count, by, "a/Initialized"+awaiting+"1", "a/Launched"+awaiting+"1", "a/Ready"+awaiting+"1", "a/Registered"+awaiting+"1")
	s.put(w.said(w.Claim("a"), v1.ConditionTypeDrifted), false)
	w.Time.Step(5 * time.Second)
	expect(t, "drifted", m.CurrentStatus, labels("name", "type"), "a/Drifted 5", "a/Initialized 5", "a/Launched 5", "a/Ready 5", "a/Registered 5")
	expect(t, "the older name", w.Metrics.Status.Deprecated.CurrentStatus, labels("group", "kind", "name", "type", "status"),
		"karpenter.sh/NodeClaim/a/Drifted/True 5", "karpenter.sh/NodeClaim/a/Initialized/Unknown 5", "karpenter.sh/NodeClaim/a/Launched/Unknown 5",
		"karpenter.sh/NodeClaim/a/Ready/Unknown 5", "karpenter.sh/NodeClaim/a/Registered/Unknown 5")
	s.drop(w.Claim("a"))
	expect(t, "gone", m.Count, by)
	expect(t, "gone, the older name", w.Metrics.Status.Deprecated.Count, by)
}

func TestConditionChangesAreCountedAndPublished(t *testing.T) {
	t.Attr("covers", "N211")
	w := newHarness(t)
	s := newStatuses(w.deps, ofNodeClaims(w.deps))
	claim := w.Claim("a")
	s.put(claim, false)
	s.put(claim, false)
	if n := w.Count("operator_nodeclaim_status_condition_transitions_total"); n != 0 || len(w.Events()) != 0 {
		t.Errorf("first sight: %v transitions, events %q", n, w.Events())
	}
	w.Time.Step(8 * time.Second)
	launched := w.said(claim, v1.ConditionTypeLaunched)
	s.put(launched, false)
	want := []string{"Normal Launched a: Status condition transitioned, Type: Launched, Status: Unknown -> True, Reason: Launched"}
	if diff := cmp.Diff(want, w.Events()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	transition := []string{"type=Launched", "karpenter_sh_nodepool=pool", "karpenter_kwok_sh_kwoknodeclass=default"}
	if n := w.Count("operator_nodeclaim_status_condition_transitions_total", append(transition, "status=True", "reason=Launched")...); n != 1 {
		t.Errorf("counted %v times", n)
	}
	if n := w.Count("operator_nodeclaim_status_condition_transition_seconds", append(transition, "status=Unknown", "to_status=True")...); n != 1 {
		t.Errorf("%v samples of the status that it left, and the new one", n)
	}
	if sum := w.Sum("operator_nodeclaim_status_condition_transition_seconds"); sum != 8 {
		t.Errorf("it had that status for %v seconds, want 8", sum)
	}
	for _, older := range []string{"operator_status_condition_transitions_total", "operator_status_condition_transition_seconds"} {
		labels := []string{"group=karpenter.sh", "kind=NodeClaim", "type=Launched"}
		if strings.HasSuffix(older, "_seconds") {
			labels = append(labels, "status=Unknown", "to_status=True")
		}
		if n := w.Count(older, labels...); n != 1 {
			t.Errorf("%s is %v", older, n)
		}
	}
	// A new condition is not a transition of a known one: it is counted, without an event.
	s.put(w.said(launched, v1.ConditionTypeDrifted), false)
	if n := w.Count("operator_nodeclaim_status_condition_transitions_total", "type=Drifted"); n != 1 || len(w.Events()) != 1 {
		t.Errorf("counted %v times, events %q", n, w.Events())
	}
	// A condition with the same status and another reason has not changed.
	other := launched.DeepCopy()
	condition.For(other, w.Time.Now()).TrueWithReason(v1.ConditionTypeLaunched, "Again", "")
	s.put(other, false)
	if n := w.Count("operator_nodeclaim_status_condition_transitions_total", "type=Launched"); n != 1 {
		t.Errorf("another reason was counted: %v", n)
	}
}

func TestConditionsOfNodeClasses(t *testing.T) {
	w := newHarness(t)
	class := w.Cloud.NodeClasses[0]
	s := newStatuses(w.deps, ofNodeClasses(w.deps, class))
	o := class.New()
	o.SetName("default")
	s.put(o, false)
	w.Time.Step(3 * time.Second)
	m := w.Metrics.Status.NodeClasses[class.LabelKey()]
	by := labels("name", "type", "status")
	expect(t, "no condition is set", m.Count, by, "default/Ready/Unknown 1")
	ready := o.DeepCopyObject().(conditioned)
	condition.For(ready, w.Time.Now()).True("Ready")
	s.put(ready, false)
	w.Time.Step(2 * time.Second)
	expect(t, "ready", m.CurrentStatus, by, "default/Ready/True 2")
	if n := w.Count("operator_kwoknodeclass_status_condition_transitions_total", "type=Ready", "status=True"); n != 1 || len(w.Events()) != 1 {
		t.Errorf("counted %v times, events %q", n, w.Events())
	}
	if n := w.Count("operator_status_condition_transitions_total", "kind="+class.GVK.Kind, "type=Ready", "status=True"); n != 1 {
		t.Errorf("under the older name counted %v times", n)
	}
}

func TestWhatExistedIsNoNews(t *testing.T) {
	w := newHarness(t)
	s := newStatuses(w.deps, ofNodeClaims(w.deps))
	handler := s.handler()
	handler.OnAdd(w.LaunchedClaim("old"), true)
	handler.OnAdd(w.LaunchedClaim("new"), false)
	if n := w.Count("operator_nodeclaim_status_condition_transitions_total"); n != 1 || len(w.Events()) != 0 {
		t.Errorf("%v transitions, events %q; want that of the new claim", n, w.Events())
	}
	handler.OnDelete(toolscache.DeletedFinalStateUnknown{Key: "old", Obj: w.LaunchedClaim("old")})
	handler.OnDelete(w.LaunchedClaim("new"))
	if len(s.objects) != 0 {
		t.Errorf("%d objects are remembered", len(s.objects))
	}
}

func TestTermination(t *testing.T) {
	w := newHarness(t)
	s := newStatuses(w.deps, ofNodeClaims(w.deps))
	claim := w.LaunchedClaim("a")
	claim.Finalizers = []string{"example.com/first", v1.TerminationFinalizer}
	s.put(claim, true)
	going := claim.DeepCopy()
	going.DeletionTimestamp = &metav1.Time{Time: w.Time.Now()}
	s.put(going, false)
	w.Time.Step(30 * time.Second)
	by := labels("name", "karpenter_sh_nodepool")
	m := w.Metrics.Status
	expect(t, "going", m.NodeClaims.TerminationCurrent, by, "a/pool 30")
	expect(t, "going, the older name", m.Deprecated.TerminationCurrent, labels("kind", "name"), "NodeClaim/a 30")
	half := going.DeepCopy()
	half.Finalizers = []string{v1.TerminationFinalizer}
	s.put(half, false)
	w.Time.Step(10 * time.Second)
	s.drop(half)
	expect(t, "gone", m.NodeClaims.TerminationCurrent, by)
	if diff := cmp.Diff([]string{"Normal Finalized a: Finalized example.com/first", "Normal Finalized a: Finalized karpenter.sh/termination"}, w.Events()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	for _, metric := range []string{"operator_nodeclaim_termination_duration_seconds", "operator_termination_duration_seconds"} {
		if n, sum := w.Count(metric), w.Sum(metric); n != 1 || sum != 40 {
			t.Errorf("%s: %v samples, %v seconds; want one of 40", metric, n, sum)
		}
	}
	// Removing a finalizer from an object that is not deleted is no termination.
	other := w.LaunchedClaim("b")
	s.put(other, false)
	bare := other.DeepCopy()
	bare.Finalizers = nil
	s.put(bare, false)
	s.drop(bare)
	if len(w.Events()) != 2 || w.Count("operator_nodeclaim_termination_duration_seconds") != 1 {
		t.Errorf("events %q", w.Events())
	}
}

func TestNodesAndBuffersSayOnlyWhatTheySay(t *testing.T) {
	w := newHarness(t)
	nodes, buffers := newStatuses(w.deps, ofNodes(w.deps)), newStatuses(w.deps, ofBuffers(w.deps))
	node := w.RegisteredNode("a")
	node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{Type: "Ready", Status: "False"}) // twice
	nodes.put(node, false)
	nodes.put(w.Node("foreign"), false)
	buffer := &v1beta1.CapacityBuffer{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "spare"}}
	buffers.put(buffer, false)
	m := w.Metrics.Status
	expect(t, "node", m.Nodes.Count, labels("name", "type", "status", "karpenter_sh_nodepool", "karpenter_sh_initialized"), "a/Ready/True/pool/ 1")
	expect(t, "no buffer has a condition", m.CapacityBuffers.Count, labels("name"))
	ready := buffer.DeepCopy()
	ready.Status.Conditions = []metav1.Condition{{Type: "ReadyForProvisioning", Status: "True", Reason: "x"}}
	buffers.put(ready, false)
	expect(t, "buffer", m.CapacityBuffers.Count, labels("namespace", "name", "type", "status", "reason"), "default/spare/ReadyForProvisioning/True/x 1")
	expect(t, "nodes have no older name", m.Deprecated.Count, labels("group", "kind", "name"), "autoscaling.x-k8s.io/CapacityBuffer/spare 1")
}

func TestOthersObjectsAreNotShown(t *testing.T) {
	w := newHarness(t)
	claims, pools := newStatuses(w.deps, ofNodeClaims(w.deps)), newStatuses(w.deps, ofNodePools(w.deps))
	claim, pool := w.Claim("a"), fakecluster.Pool()
	claims.put(claim, false)
	pools.put(pool, false)
	if n := len(shown(t, w.Metrics.Status.NodePools.Count, "type")); n != 3 {
		t.Errorf("%d conditions of a NodePool, want 3", n)
	}
	claim, pool = claim.DeepCopy(), pool.DeepCopy()
	claim.Spec.NodeClassRef, pool.Spec.Template.Spec.NodeClassRef = fakecluster.Unmanaged(), fakecluster.Unmanaged()
	claims.put(claim, false)
	pools.put(pool, false)
	for _, family := range [][]string{shown(t, w.Metrics.Status.NodeClaims.Count, "name"), shown(t, w.Metrics.Status.NodePools.Count, "name"), shown(t, w.Metrics.Status.Deprecated.Count, "name")} {
		if len(family) != 0 {
			t.Errorf("shown: %v", family)
		}
	}
}

func TestAnotherObjectOfTheNameBeginsAnew(t *testing.T) {
	w := newHarness(t)
	s := newStatuses(w.deps, ofNodeClaims(w.deps))
	claim := w.LaunchedClaim("a")
	claim.DeletionTimestamp = &metav1.Time{Time: w.Time.Now()}
	s.put(claim, true)
	again := w.Claim("a")
	again.UID = "another"
	s.put(again, false)
	if n := w.Count("operator_nodeclaim_termination_duration_seconds"); n != 1 {
		t.Errorf("the one before ended %v times", n)
	}
	s.drop(claim) // late
	if !slices.ContainsFunc(s.all(), func(o client.Object) bool { return o.GetUID() == "another" }) {
		t.Error("the new one was forgotten")
	}
}

// TestReasonsOfKubeletsAreBounded checks that a kubelet that makes up reasons does not add series for ever.
func TestReasonsOfKubeletsAreBounded(t *testing.T) {
	w := newHarness(t)
	s := newStatuses(w.deps, ofNodes(w.deps))
	node := w.RegisteredNode("a")
	s.put(node, true)
	changes := 3 * maxLabelPairs
	for i := range changes {
		node = node.DeepCopy()
		status := []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse}[i%2]
		node.Status.Conditions = []corev1.NodeCondition{{Type: "MadeUp", Status: status, Reason: fmt.Sprint("Reason", i)}}
		s.put(node, false)
		w.Time.Step(time.Second)
	}
	if n := testutil.CollectAndCount(w.Metrics.Status.Nodes.Transitions); n > maxLabelPairs+2 {
		t.Errorf("there are %d series, want at most %d", n, maxLabelPairs+2)
	}
	if n := w.Count("operator_node_status_condition_transitions_total"); int(n) != changes {
		t.Errorf("%v changes are counted, want %d", n, changes)
	}
}
