package disruption

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestNodesOfAPodGroupGoTogether: nodes with pods of a group that is disrupted as a whole are deleted together, or none of them if one cannot be
// tainted, even where their pods fit on another node and nothing is launched.
func TestNodesOfAPodGroupGoTogether(t *testing.T) {
	t.Attr("covers", "N471")
	arrange := func(w *harness) {
		w.twoNodesOfAPodGroup()
		w.drift("a")
	}
	inBubble(t, "both are deleted", func(w *harness) {
		arrange(w)
		defer w.run()()
		w.pass(5 * time.Second)
		w.wantMetric("karpenter_nodeclaims_disrupted_total", 2, "reason=drifted")
		w.wantMetric("karpenter_nodeclaims_created_total", 0)
	})
	inBubble(t, "one cannot be tainted", func(w *harness) {
		arrange(w)
		w.fail(failing("patch", "b", -1, conflict("b")))
		defer w.run()()
		w.pass(20 * time.Second)
		w.wantMetric("karpenter_nodeclaims_disrupted_total", 0)
		if n := w.alive(); n != 3 {
			w.Fatalf("%d of 3 nodes are left", n)
		}
		w.wantUnmarked("a")
		w.wantUnmarked("b")
	})
}

// TestNodesOfAPodGroupAreRepairedTogether: the healthy node is deleted with the unhealthy one. Only the drain of the latter is limited.
func TestNodesOfAPodGroupAreRepairedTogether(t *testing.T) {
	t.Attr("covers", "N471")
	inBubble(t, "one of two is unhealthy", func(w *harness) {
		w.repairing()
		w.twoNodesOfAPodGroup().stuck.Store(true)
		node := w.node("a")
		before := node.DeepCopy()
		sick(&nodeAndClaim{node: node})
		if err := w.client.Status().Patch(w.Context(), node, client.MergeFrom(before)); err != nil {
			w.Fatal(err)
		}
		defer w.run()()
		w.pass(5 * time.Second)
		w.wantMetric("karpenter_nodeclaims_disrupted_total", 2, "reason=unhealthy")
		w.wantMetric("karpenter_nodeclaims_unhealthy_disrupted_total", 1)
		w.wantDeleted("a", "b")
		if a, b := w.deadline("a"), w.deadline("b"); a.IsZero() || !b.IsZero() {
			w.Errorf("the drain of the unhealthy node ends at %v, that of the healthy one at %v", a, b)
		}
	})
}

// twoNodesOfAPodGroup adds the nodes a and b, with pods of a group that is disrupted as a whole, and a node c with capacity for these.
func (w *harness) twoNodesOfAPodGroup() *life {
	w.Helper()
	l := w.live(ondemand(1))
	w.pool("pool", budget("100%"), usable)
	name := "train"
	w.create(&schedulingv1beta1.PodGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: schedulingv1beta1.PodGroupSpec{
			SchedulingPolicy: schedulingv1beta1.PodGroupSchedulingPolicy{Basic: &schedulingv1beta1.BasicSchedulingPolicy{}},
			DisruptionMode:   &schedulingv1beta1.DisruptionMode{All: &schedulingv1beta1.AllDisruptionMode{}},
		},
	})
	for _, node := range []string{"a", "b"} {
		l.of("pool", node, "x1")
		w.pod(node, "pod-"+node, asks(300), func(p *corev1.Pod) { p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &name} })
	}
	l.of("pool", "c", "x1")
	w.pod("c", "web", asks(100))
	return l
}
