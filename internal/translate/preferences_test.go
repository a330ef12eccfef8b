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

// withoutPreferences removes all preferences of a pod.
func withoutPreferences(pod *corev1.Pod) *corev1.Pod {
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

// TestPreferencesIgnored checks that a translator that ignores preferences translates a pod as if it had none, and that other
// translators still distinguish such pods.
func TestPreferencesIgnored(t *testing.T) {
	pod := everything()
	pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
		MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.ScheduleAnyway,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
	})
	ignoring, other := translate.NewWith(v1.CoreLabelRules(), translate.Settings{IgnorePreferences: true}), translate.New(v1.CoreLabelRules())
	got, bare := ignoring.Pod(pod), ignoring.Pod(withoutPreferences(pod))
	if got.Shape != bare.Shape {
		t.Errorf("pods that differ only in preferences have different shapes (-without +with):\n%s", cmp.Diff(bare.Shape, got.Shape, exact()))
	}
	if n := ignoring.Remembered(); n != 1 {
		t.Errorf("%d specs are cached, want 1", n)
	}
	want := other.Pod(withoutPreferences(pod))
	if diff := cmp.Diff(want, got, exact()); diff != "" {
		t.Errorf("(-of a pod without preferences +with its preferences ignored):\n%s", diff)
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
		t.Errorf("%d preferred pod terms and %d preferred node terms are kept where preferences count, want 3 and 1", soft, len(respected.Preferred))
	}
}

// TestPreferenceForOtherNodesIsRespected checks that pods that prefer nodes without a NodePool are rejected, whether other preferences are
// ignored or not, and that this does not apply to a pod that was translated before.
func TestPreferenceForOtherNodesIsRespected(t *testing.T) {
	ignoring := translate.NewWith(v1.CoreLabelRules(), translate.Settings{IgnorePreferences: true})
	pod := plain()
	pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = nil
	ignoring.Pod(pod)
	away := pod.DeepCopy()
	away.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0].Preference = corev1.NodeSelectorTerm{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: v1.NodePoolLabelKey, Operator: corev1.NodeSelectorOpDoesNotExist}},
	}
	if got := ignoring.Pod(pod); got.Silent || strings.Contains(got.Rejected, v1.NodePoolLabelKey) {
		t.Errorf("a pod without that preference is rejected: %q", got.Rejected)
	}
	if got := ignoring.Pod(away); !got.Silent || !strings.Contains(got.Rejected, v1.NodePoolLabelKey) {
		t.Errorf("the preference for nodes without a NodePool is ignored: %q, silent %t", got.Rejected, got.Silent)
	}
}
