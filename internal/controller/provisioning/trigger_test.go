package provisioning

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
)

func TestWaitingPodsAskAgain(t *testing.T) {
	t.Attr("covers", "L006")
	running(t, nil, func(w *harness, ws watches) {
		hopeless := pendingPod("hopeless", selecting(corev1.LabelTopologyZone, "nowhere"))
		ws.of(hopeless).Add(hopeless)
		advance(5 * time.Second)
		if got := w.passes(); got != 1 {
			t.Fatalf("%d passes within the first seconds, want 1", got)
		}
		advance(time.Minute)
		if got := w.passes(); got < 5 || got > 7 {
			t.Errorf("%d passes in a minute, want one every ten seconds", got)
		}
		bound := hopeless.DeepCopy()
		bound.Spec.NodeName = "n"
		ws.of(hopeless).Update(hopeless, bound)
		advance(15 * time.Second) // earlier triggers still cause a pass
		before := w.passes()
		advance(time.Minute)
		if got := w.passes(); got != before {
			t.Errorf("%d more passes for a pod that does not wait any more", got-before)
		}
	}, readyPool("default"))
	running(t, nil, func(w *harness, ws watches) {
		gated := pendingPod("gated", func(p *corev1.Pod) { p.Status.Conditions[0].Reason = "SchedulingGated" })
		ws.of(gated).Add(gated)
		advance(time.Minute)
		if got := w.passes(); got != 0 {
			t.Errorf("%d passes for a pod without a failed scheduling attempt", got)
		}
	}, readyPool("default"))
}

func TestTheFirstSightOfAPodStands(t *testing.T) {
	t.Attr("covers", "L007")
	running(t, nil, func(w *harness, ws watches) {
		pod := pendingPod("p", selecting(corev1.LabelTopologyZone, "nowhere"))
		start := time.Now()
		ws.of(pod).Add(pod)
		advance(25 * time.Second)
		again := pod.DeepCopy()
		again.Labels = map[string]string{"changed": "yes"}
		ws.of(pod).Update(pod, again)
		advance(time.Second)
		if times, _ := w.p.PodLatency.Get("p"); !times.Seen.Equal(start) {
			t.Errorf("seen at %v, want %v", times.Seen, start)
		}
		ws.of(pod).Delete(again)
		if _, known := w.p.PodLatency.Get("p"); known {
			t.Error("a pod that is gone is remembered")
		}
	}, readyPool("default"))
}

// leaving is a managed node with a pod on it, whose claim is being deleted.
func leaving(w *harness) (*v1.NodeClaim, *corev1.Node, *corev1.Pod) {
	claim, node, pod := w.LaunchedClaim("a"), w.RegisteredNode("a"), w.Pod("p", "a")
	claim.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	node.Labels[corev1.LabelInstanceTypeStable] = "small"
	return claim, node, pod
}

func TestDisruptedNodesTrigger(t *testing.T) {
	t.Attr("covers", "L008")
	running(t, nil, func(w *harness, ws watches) {
		claim, node, pod := leaving(w)
		pod.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: "nowhere"} // so that it stays pending
		w.Add(pod)
		node.Spec.Taints = []corev1.Taint{v1.DisruptedNoScheduleTaint()}
		ws.of(claim).Add(claim)
		ws.of(pod).Add(pod)
		ws.of(node).Add(node)
		advance(5 * time.Second)
		if got := w.passes(); got != 1 {
			t.Fatalf("%d passes within the first seconds, want 1", got)
		}
		advance(time.Minute)
		if got := w.passes(); got < 5 || got > 7 {
			t.Errorf("%d passes in a minute, want one every ten seconds", got)
		}
	}, readyPool("default"))
	running(t, nil, func(w *harness, ws watches) {
		node := w.RegisteredNode("a")
		node.Spec.Taints = []corev1.Taint{{Key: v1.DisruptedTaintKey, Effect: corev1.TaintEffectNoExecute}, {Key: "other", Effect: corev1.TaintEffectNoSchedule}}
		ws.of(node).Add(node)
		w.p.batcher.mu.Lock()
		defer w.p.batcher.mu.Unlock()
		if triggers := len(w.p.batcher.seen); triggers != 0 {
			t.Errorf("%d triggers for a node with other taints", triggers)
		}
	}, readyPool("default"))
}

func TestDeletionOfANodeAloneDoesNotTrigger(t *testing.T) {
	t.Attr("covers", "L009")
	running(t, nil, func(w *harness, ws watches) {
		claim, node, pod := leaving(w)
		claim.DeletionTimestamp = nil
		node.DeletionTimestamp = &metav1.Time{Time: time.Now()}
		others := fakecluster.Must(w.Cluster, node0(w))
		others.DeletionTimestamp = &metav1.Time{Time: time.Now()}
		stray := w.Pod("stray", others.Name)
		w.Add(pod, stray)
		ws.of(claim).Add(claim)
		ws.of(pod).Add(pod)
		ws.of(pod).Add(stray)
		ws.of(node).Add(node)
		ws.of(node).Add(others)
		advance(time.Minute)
		if got := w.passes(); got != 0 {
			t.Errorf("%d passes for nodes without the taint", got)
		}
	}, readyPool("default"))
}

// TestNominatedPodsTriggerWhenTheirNodeIsGone: a pod that is nominated to a node waits for it, and is planned once the node is deleted.
func TestNominatedPodsTriggerWhenTheirNodeIsGone(t *testing.T) {
	t.Attr("covers", "N485")
	running(t, nil, func(w *harness, ws watches) {
		node := fakecluster.Must(w.Cluster, node0(w))
		pod := pendingPod("p", func(p *corev1.Pod) { p.Status.NominatedNodeName = node.Name })
		ws.of(node).Add(node)
		ws.of(pod).Add(pod)
		advance(time.Minute)
		if got := w.passes(); got != 0 {
			t.Fatalf("%d passes for a pod whose node is there", got)
		}
		ws.of(node).Delete(node)
		advance(5 * time.Second)
		if got := w.passes(); got != 1 {
			t.Errorf("%d passes after the node was deleted, want 1", got)
		}
	}, readyPool("default"))
}

// node0 is an unmanaged node in the API server.
func node0(w *harness) *corev1.Node {
	n := w.Node("others")
	n.Spec.ProviderID, n.Spec.Taints = "", nil
	w.Add(n)
	return n
}

func TestPodsWaitForSyncedCaches(t *testing.T) {
	t.Attr("covers", "L010")
	var nodes *controllertest.FakeInformer
	running(t, func(ws watches) { nodes = ws.late(&corev1.Node{}) }, func(w *harness, ws watches) {
		pod := pendingPod("p")
		ws.of(pod).Add(pod)
		advance(30 * time.Second)
		if got := len(w.claims()); got != 0 || w.passes() != 0 {
			t.Fatalf("%d NodeClaims while the nodes are not known", got)
		}
		nodes.Synced()
		advance(2 * time.Second) // before the pod triggers again
		if got := len(w.claims()); got != 1 {
			t.Errorf("%d NodeClaims, want the one for the pod that has been waiting", got)
		}
	}, readyPool("default"))
}
