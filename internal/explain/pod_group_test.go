package explain

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// TestNodesOfAPodGroup: the answer about a node names the node that is replaced with it, for drift or repair, or what keeps the two from being
// replaced together.
func TestNodesOfAPodGroup(t *testing.T) {
	t.Attr("covers", "N471")
	name := "train"
	grouped := func(objects []client.Object) {
		for _, pod := range []string{"front-1", "small"} {
			change(pod, func(p *corev1.Pod) { p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &name} })(objects)
		}
		change("small", func(p *corev1.Pod) { p.Spec.NodeName, p.Status = "node-2", corev1.PodStatus{Phase: corev1.PodRunning} })(objects)
	}
	const sick = "  Unhealthy: KWOKUnhealthy=True since 2026-01-02T11:59:00Z, tolerated for 30s, then ReplaceNode with at most 45s to drain\n"
	for _, c := range []struct {
		name, node string
		changes    changes
		want       string
	}{
		{"together", "node-1", changes{budgets(v1.Budget{Nodes: "2"})}, "  Drifted: would be replaced by c-4x-amd64-linux together with node-2, saving $0.1086/h, now\n"},
		{"over the budget", "node-2", changes{budgets(v1.Budget{Nodes: "1"})}, "  Drifted (NodePoolDrifted): would be replaced by c-4x-amd64-linux together with node-1, saving $0.1086/h, once budgets allow it\n" +
			"    blocked: budgets of NodePool \"web\" do not allow to disrupt its 2 nodes with pods of PodGroup shop/train at the same time\n" +
			"    1 allowed at a time, 0 disrupting; the tightest budget is 1: 1 at a time\n" +
			"    what would help: Loosen the budgets of the NodePool.\n"},
		{"a protected pod on the other node", "node-2", changes{annotatedPod("true")}, "  Drifted (NodePoolDrifted): blocked: PodGroup shop/train also runs on node node-1: " +
			"pod has \"karpenter.sh/do-not-disrupt\" annotation (Pod=shop/front-1)\n" +
			"    what would help: Remove what blocks the node that is named.\n"},
		{
			"repaired together", "node-1",
			changes{budgets(v1.Budget{Nodes: "2"}), unhealthy("node-1", "KWOKUnhealthy", time.Minute)},
			sick + "    would be replaced by c-4x-amd64-linux together with node-2, saving $0.1086/h, now\n",
		},
		{
			"a healthy node that is replaced with an unhealthy one", "node-2",
			changes{budgets(v1.Budget{Nodes: "2"}), unhealthy("node-1", "KWOKUnhealthy", time.Minute)},
			"  Unhealthy: would be replaced by c-4x-amd64-linux together with node-1, saving $0.1086/h, now\n",
		},
		{"repair over the budget", "node-2", changes{budgets(v1.Budget{Nodes: "1"}), unhealthy("node-1", "KWOKUnhealthy", time.Minute)}, "  Unhealthy: blocked: " +
			"budgets of NodePool \"web\" do not allow to disrupt its 2 nodes with pods of PodGroup shop/train at the same time\n" +
			"    1 allowed at a time, 0 disrupting; the tightest budget is 1: 1 at a time\n"},
		{"repair with a protected pod on the other node", "node-2", changes{annotatedPod("true"), unhealthy("node-2", "KWOKUnhealthy", time.Minute)}, sick +
			"    blocked: PodGroup shop/train also runs on node node-1: pod has \"karpenter.sh/do-not-disrupt\" annotation (Pod=shop/front-1)\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := shop(t, append(changes{quiet, free, grouped, drifted("web-2")}, c.changes...)...)
			q.Options.NodeRepair = true
			q.Objects = append(q.Objects, &schedulingv1beta1.PodGroup{
				ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
				Spec: schedulingv1beta1.PodGroupSpec{
					SchedulingPolicy: schedulingv1beta1.PodGroupSchedulingPolicy{Basic: &schedulingv1beta1.BasicSchedulingPolicy{}},
					DisruptionMode:   &schedulingv1beta1.DisruptionMode{All: &schedulingv1beta1.AllDisruptionMode{}},
				},
			})
			got, err := AboutNode(t.Context(), q, c.node)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(got.Text(), c.want) {
				t.Errorf("got:\n%s\nwithout:\n%s", got.Text(), c.want)
			}
		})
	}
}
