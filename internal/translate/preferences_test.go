package translate_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

// unwish removes all preferences of a pod.
func unwish(pod *corev1.Pod) *corev1.Pod {
	pod = pod.DeepCopy()
	pod.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = nil
	pod.Spec.Affinity.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution = nil
	pod.Spec.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution = nil
	hard := pod.Spec.TopologySpreadConstraints[:0]
	for _, c := range pod.Spec.TopologySpreadConstraints {
		if c.WhenUnsatisfiable != corev1.ScheduleAnyway {
			hard = append(hard, c)
		}
	}
	pod.Spec.TopologySpreadConstraints = hard
	return pod
}

// TestWishesLeftOut checks that a translator that ignores preferences translates a pod as if it had none, and that others go on
// to tell such pods apart.
func TestWishesLeftOut(t *testing.T) {
	pod := everything()
	pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
		MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.ScheduleAnyway,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
	})
	wishless, other := translate.NewWith(v1.CoreLabelRules(), false), translate.New(v1.CoreLabelRules())
	got, bare := wishless.Pod(pod), wishless.Pod(unwish(pod))
	if got.Shape != bare.Shape {
		t.Errorf("pods that differ in wishes only ask different things (-without +with):\n%s", cmp.Diff(bare.Shape, got.Shape, exact()))
	}
	if n := wishless.Remembered(); n != 1 {
		t.Errorf("%d questions are remembered, want 1", n)
	}
	want := other.Pod(unwish(pod))
	if diff := cmp.Diff(want, got, exact()); diff != "" {
		t.Errorf("(-of a pod without wishes +with its wishes left out):\n%s", diff)
	}
	respected := other.Pod(pod).Shape
	soft := 0
	for _, a := range respected.Affinities {
		if !a.Required() {
			soft++
		}
	}
	for _, s := range respected.Spreads {
		if s.Soft {
			soft++
		}
	}
	if soft != 3 || len(respected.Preferred) != 1 {
		t.Errorf("%d wishes about other pods and %d preferences are heard where they count, want 3 and 1", soft, len(respected.Preferred))
	}
}

// TestWishToStayAwayIsHeard checks that pods that prefer nodes without a NodePool are left alone, whether other preferences are ignored or not,
// and that this is not told of a pod that came before.
func TestWishToStayAwayIsHeard(t *testing.T) {
	wishless := translate.NewWith(v1.CoreLabelRules(), false)
	pod := plain()
	pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = nil
	wishless.Pod(pod)
	away := pod.DeepCopy()
	away.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0].Preference = corev1.NodeSelectorTerm{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: v1.NodePoolLabelKey, Operator: corev1.NodeSelectorOpDoesNotExist}},
	}
	if got := wishless.Pod(pod); got.Silent || strings.Contains(got.Rejected, v1.NodePoolLabelKey) {
		t.Errorf("a pod without that wish is left alone: %q", got.Rejected)
	}
	if got := wishless.Pod(away); !got.Silent || !strings.Contains(got.Rejected, v1.NodePoolLabelKey) {
		t.Errorf("the wish for no node of ours is not heard: %q, silent %t", got.Rejected, got.Silent)
	}
}
