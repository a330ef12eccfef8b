package generator

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

func (d *draw) topologyKey() string {
	return pick(d, corev1.LabelTopologyZone, corev1.LabelTopologyZone, corev1.LabelTopologyZone, corev1.LabelHostname, corev1.LabelHostname, v1.CapacityTypeLabelKey)
}

// selector selects pods of this or another workload.
func (d *draw) selector() *metav1.LabelSelector {
	switch d.IntN(8) {
	case 0:
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: tierLabel, Operator: metav1.LabelSelectorOpDoesNotExist}}}
	case 1:
		return &metav1.LabelSelector{MatchLabels: map[string]string{tierLabel: "front"}}
	case 2:
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: appLabel, Operator: metav1.LabelSelectorOpIn, Values: some(d, 2, "a", "b", "c")}}}
	}
	return &metav1.LabelSelector{MatchLabels: map[string]string{appLabel: pick(d, "a", "b", "c")}}
}

func (d *draw) spreads(spec *corev1.PodSpec) {
	keys := map[string]bool{}
	for range 1 + d.IntN(2) {
		c := corev1.TopologySpreadConstraint{
			MaxSkew: int32(1 + d.IntN(2)), TopologyKey: d.topologyKey(), WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: d.selector(),
		}
		if d.has(EmptySelector, 10) {
			c.LabelSelector = &metav1.LabelSelector{}
		}
		switch d.IntN(5) {
		case 0:
			c.WhenUnsatisfiable = corev1.ScheduleAnyway
		case 1:
			c.MinDomains = new(int32(1 + d.IntN(4)))
		}
		ignore, honor := corev1.NodeInclusionPolicyIgnore, corev1.NodeInclusionPolicyHonor
		if d.one(5) {
			c.NodeAffinityPolicy = pick(d, &ignore, &honor)
		}
		if d.one(5) {
			c.NodeTaintsPolicy = pick(d, &ignore, &honor)
		}
		if d.one(6) {
			c.MatchLabelKeys = []string{tierLabel}
			c.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{appLabel: pick(d, "a", "b", "c")}}
		}
		if id := c.TopologyKey + string(c.WhenUnsatisfiable); !keys[id] {
			keys[id] = true
			spec.TopologySpreadConstraints = append(spec.TopologySpreadConstraints, c)
		}
	}
}

func (d *draw) term() corev1.PodAffinityTerm {
	t := corev1.PodAffinityTerm{TopologyKey: d.topologyKey(), LabelSelector: d.selector()}
	switch d.IntN(8) {
	case 0:
		t.NamespaceSelector = &metav1.LabelSelector{}
	case 1:
		t.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "blue"}}
	case 2:
		t.Namespaces = []string{elsewhere}
	}
	if d.one(10) {
		t.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{appLabel: pick(d, "a", "b", "c")}}
		if d.one(2) {
			t.MatchLabelKeys = []string{tierLabel}
		} else {
			t.MismatchLabelKeys = []string{tierLabel}
		}
	}
	return t
}

func (d *draw) preferred() []corev1.WeightedPodAffinityTerm {
	var out []corev1.WeightedPodAffinityTerm
	for range d.IntN(2) {
		out = append(out, corev1.WeightedPodAffinityTerm{Weight: int32(1 + d.IntN(100)), PodAffinityTerm: d.term()})
	}
	return out
}

// affinity requires pods nearby.
func (d *draw) affinity(spec *corev1.PodSpec) {
	if spec.NodeSelector[corev1.LabelTopologyZone] != "" || spec.Affinity != nil {
		if _, off := d.off[PinnedAffinity]; off {
			return
		}
	}
	to := &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: d.preferred()}
	to.RequiredDuringSchedulingIgnoredDuringExecution = append(to.RequiredDuringSchedulingIgnoredDuringExecution, d.term())
	if d.has(AffinityTerms, 3) {
		to.RequiredDuringSchedulingIgnoredDuringExecution = append(to.RequiredDuringSchedulingIgnoredDuringExecution, d.term())
	}
	affinity(spec).PodAffinity = to
}

// antiAffinity keeps pods away.
func (d *draw) antiAffinity(spec *corev1.PodSpec) {
	to := &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: d.preferred()}
	for range 1 + d.IntN(2) {
		t := d.term()
		if d.has(RareTopology, 6) {
			t.TopologyKey = rackLabel
		}
		to.RequiredDuringSchedulingIgnoredDuringExecution = append(to.RequiredDuringSchedulingIgnoredDuringExecution, t)
	}
	affinity(spec).PodAntiAffinity = to
}
