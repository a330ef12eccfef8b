package scenario

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// The labels of pods in random problems, few enough that selectors often select some pod.
const (
	appLabel  = "app"
	tierLabel = "tier"
)

func drawLabels(t *rapid.T) map[string]string {
	labels := map[string]string{appLabel: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "app")}
	if rapid.Bool().Draw(t, "has a tier") {
		labels[tierLabel] = "front"
	}
	return labels
}

// drawBound is a small pod that runs on a node.
func drawBound(t *rapid.T, name, node string) *corev1.Pod {
	pod := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("pod/default/" + name), Labels: drawLabels(t)},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "app"}}},
	}
	drawTopology(t, &pod.Spec)
	drawVolumes(t, &pod.Spec)
	return pod
}

// drawTopology gives a pod required and preferred terms about other pods, or none.
func drawTopology(t *rapid.T, spec *corev1.PodSpec) {
	switch rapid.IntRange(0, 5).Draw(t, "topology") {
	case 0, 1:
		for range rapid.IntRange(1, 2).Draw(t, "spreads") {
			spec.TopologySpreadConstraints = append(spec.TopologySpreadConstraints, drawSpread(t))
		}
	case 2:
		near := &corev1.PodAffinity{}
		near.RequiredDuringSchedulingIgnoredDuringExecution, near.PreferredDuringSchedulingIgnoredDuringExecution = drawTerms(t)
		affinityOf(spec).PodAffinity = near
	case 3:
		far := &corev1.PodAntiAffinity{}
		far.RequiredDuringSchedulingIgnoredDuringExecution, far.PreferredDuringSchedulingIgnoredDuringExecution = drawTerms(t)
		affinityOf(spec).PodAntiAffinity = far
	case 4:
		spec.TopologySpreadConstraints = append(spec.TopologySpreadConstraints, drawSpread(t))
		affinityOf(spec).PodAntiAffinity = &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{drawTerm(t)}}
	}
}

func affinityOf(spec *corev1.PodSpec) *corev1.Affinity {
	if spec.Affinity == nil {
		spec.Affinity = &corev1.Affinity{}
	}
	return spec.Affinity
}

func drawTopologyKey(t *rapid.T) string {
	return rapid.SampledFrom([]string{
		corev1.LabelTopologyZone, corev1.LabelTopologyZone, corev1.LabelHostname, corev1.LabelHostname, v1.CapacityTypeLabelKey, corev1.LabelArchStable, teamLabel,
	}).Draw(t, "topology key")
}

func drawSelector(t *rapid.T) *metav1.LabelSelector {
	switch rapid.IntRange(0, 9).Draw(t, "selector") {
	case 0:
		return nil
	case 1:
		return &metav1.LabelSelector{}
	case 2:
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: tierLabel, Operator: metav1.LabelSelectorOpDoesNotExist}}}
	case 3:
		return &metav1.LabelSelector{MatchLabels: map[string]string{tierLabel: "front"}}
	}
	return &metav1.LabelSelector{MatchLabels: map[string]string{appLabel: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "selected")}}
}

func drawSpread(t *rapid.T) corev1.TopologySpreadConstraint {
	c := corev1.TopologySpreadConstraint{
		MaxSkew:           int32(rapid.IntRange(1, 2).Draw(t, "skew")),
		TopologyKey:       drawTopologyKey(t),
		WhenUnsatisfiable: corev1.DoNotSchedule,
		LabelSelector:     drawSelector(t),
	}
	if rapid.IntRange(0, 3).Draw(t, "soft") == 0 {
		c.WhenUnsatisfiable = corev1.ScheduleAnyway
	} else if n := int32(rapid.IntRange(0, 9).Draw(t, "domains")); n >= 1 && n <= 3 {
		c.MinDomains = &n
	}
	ignore, honor := corev1.NodeInclusionPolicyIgnore, corev1.NodeInclusionPolicyHonor
	switch rapid.IntRange(0, 5).Draw(t, "policies") {
	case 0:
		c.NodeAffinityPolicy = &ignore
	case 1:
		c.NodeTaintsPolicy = &honor
	}
	if rapid.IntRange(0, 4).Draw(t, "keyed") == 0 {
		c.MatchLabelKeys = []string{tierLabel}
	}
	return c
}

func drawTerm(t *rapid.T) corev1.PodAffinityTerm {
	term := corev1.PodAffinityTerm{TopologyKey: drawTopologyKey(t), LabelSelector: drawSelector(t)}
	switch rapid.IntRange(0, 7).Draw(t, "namespaces") {
	case 0:
		term.NamespaceSelector = &metav1.LabelSelector{}
	case 1:
		term.Namespaces = []string{"elsewhere"}
	}
	return term
}

func drawTerms(t *rapid.T) (required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) {
	for range rapid.IntRange(0, 1).Draw(t, "required") {
		required = append(required, drawTerm(t))
	}
	for range rapid.IntRange(0, 2).Draw(t, "preferred") {
		preferred = append(preferred, corev1.WeightedPodAffinityTerm{Weight: int32(rapid.IntRange(1, 100).Draw(t, "weight")), PodAffinityTerm: drawTerm(t)})
	}
	return required, preferred
}
