package disruption

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestNodesOfAPodGroupGoTogether: nodes with pods of a group that is disrupted as a whole are deleted together, or none of them if one cannot be
// tainted, even where their pods fit on another node and nothing is launched.
func TestNodesOfAPodGroupGoTogether(t *testing.T) {
	t.Attr("covers", "N471")
	arrange := func(w *harness) {
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
