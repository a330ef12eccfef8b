package problem

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// allowing returns a budget with this status.
func allowing(allowed, desired, expected int32) func(*policyv1.PodDisruptionBudget) {
	return func(b *policyv1.PodDisruptionBudget) {
		b.Status = policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed, DesiredHealthy: desired, ExpectedPods: expected}
	}
}

func TestBudgetsAreAddedUp(t *testing.T) {
	t.Attr("covers", "W023")
	three := []*corev1.Pod{boundPod("a"), boundPod("b"), boundPod("c")}
	for _, tt := range []struct {
		name    string
		pods    []*corev1.Pod
		budgets []policyv1.PodDisruptionBudget
		want    []PDBLimit
		rounds  int
	}{
		{"no budget, no limit", three, nil, []PDBLimit{}, 0},
		{
			"two pods behind a budget that lets one go need two rounds", three[:2],
			[]policyv1.PodDisruptionBudget{fullBudget("b", allowing(1, 4, 5))},
			[]PDBLimit{{PDB: "shop/b", Pods: 2, Allowed: 1}},
			2,
		},
		{
			"three pods behind one that lets two go need two rounds", three,
			[]policyv1.PodDisruptionBudget{fullBudget("b", allowing(2, 3, 5))},
			[]PDBLimit{{PDB: "shop/b", Pods: 3, Allowed: 2}},
			2,
		},
		{
			"three pods behind one that lets three go need one", three,
			[]policyv1.PodDisruptionBudget{fullBudget("b", allowing(3, 2, 5))},
			[]PDBLimit{{PDB: "shop/b", Pods: 3, Allowed: 3}},
			1,
		},
		{
			"a number as large as the workload is known to allow nothing ever", three[:1],
			[]policyv1.PodDisruptionBudget{fullBudget("b", allowing(0, 5, 5), func(b *policyv1.PodDisruptionBudget) {
				b.Spec.MinAvailable = new(intstr.FromInt32(5))
			})},
			[]PDBLimit{{PDB: "shop/b", Pods: 1, Never: true}},
			1,
		},
		{
			"one that is exhausted now may allow something later", three[:1],
			[]policyv1.PodDisruptionBudget{fullBudget("b", allowing(0, 4, 5))},
			[]PDBLimit{{PDB: "shop/b", Pods: 1}},
			1,
		},
		{
			"the limit with the most rounds comes first", three,
			[]policyv1.PodDisruptionBudget{fullBudget("a", allowing(2, 3, 5)), fullBudget("b", allowing(1, 4, 5))},
			[]PDBLimit{{PDB: "shop/b", Pods: 3, Allowed: 1}, {PDB: "shop/a", Pods: 3, Allowed: 2}},
			3,
		},
		{
			"pods that need no leave do not wait",
			[]*corev1.Pod{boundPod("a", terminating), boundPod("b", ownedBy("v1", "Node")), boundPod("c", notReady), boundPod("d", protectedBy("true"))},
			[]policyv1.PodDisruptionBudget{fullBudget("b", alwaysAllow)},
			[]PDBLimit{},
			0,
		},
		{
			"budgets of other namespaces and other pods say nothing", three,
			[]policyv1.PodDisruptionBudget{
				fullBudget("b", func(b *policyv1.PodDisruptionBudget) { b.Namespace = "other" }),
				fullBudget("c", func(b *policyv1.PodDisruptionBudget) {
					b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}
				}),
			},
			[]PDBLimit{},
			0,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := NewPDBLimits(tt.budgets).Of(tt.pods, time.Unix(10_000, 0))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if len(got) > 0 && got[0].Rounds() != tt.rounds {
				t.Errorf("%d rounds, want %d", got[0].Rounds(), tt.rounds)
			}
		})
	}
}
