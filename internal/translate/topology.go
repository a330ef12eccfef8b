package translate

import (
	"encoding/binary"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

// podTopology sets topology spread, pod affinity and pod anti-affinity.
// Source: scheduling specification, topology groups.
func (x *podSpecs) podTopology(s *model.Shape, pod *corev1.Pod) {
	for i := range pod.Spec.TopologySpreadConstraints {
		c := &pod.Spec.TopologySpreadConstraints[i]
		if x.ignorePreferences && soft(c) {
			continue
		}
		s.Spreads = append(s.Spreads, x.spread(c, pod.Namespace, x.spreadSelector(c, pod.Labels)))
	}
	a := pod.Spec.Affinity
	if a == nil {
		return
	}
	if near := a.PodAffinity; near != nil {
		s.Affinities = x.required(s.Affinities, near.RequiredDuringSchedulingIgnoredDuringExecution, pod, false)
		s.Affinities = x.preferred(s.Affinities, near.PreferredDuringSchedulingIgnoredDuringExecution, pod, false)
	}
	if far := a.PodAntiAffinity; far != nil {
		s.Affinities = x.required(s.Affinities, far.RequiredDuringSchedulingIgnoredDuringExecution, pod, true)
		s.Affinities = x.preferred(s.Affinities, far.PreferredDuringSchedulingIgnoredDuringExecution, pod, true)
	}
}

// soft reports whether a spread is preferred and not required.
func soft(c *corev1.TopologySpreadConstraint) bool {
	return c.WhenUnsatisfiable == corev1.ScheduleAnyway
}

// spread translates a constraint on the pods of a namespace that selector matches. By default, nodes that the pod's node affinity
// excludes do not count, and nodes whose taints it does not tolerate do.
func (x *podSpecs) spread(c *corev1.TopologySpreadConstraint, namespace string, selector *topology.Selector) topology.Spread {
	s := topology.Spread{
		Key:         x.labels.rules.Normalize(c.TopologyKey),
		MaxSkew:     max(c.MaxSkew, 1),
		Soft:        soft(c),
		Selector:    selector,
		Namespace:   namespace,
		AnyAffinity: c.NodeAffinityPolicy != nil && *c.NodeAffinityPolicy == corev1.NodeInclusionPolicyIgnore,
		HonorTaints: c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor,
	}
	if c.MinDomains != nil {
		s.MinDomains = *c.MinDomains
	}
	return s
}

// spreadSelector returns the selector of a spread. The API server adds the expressions of matchLabelKeys, so they may exist already.
func (x *podSpecs) spreadSelector(c *corev1.TopologySpreadConstraint, own map[string]string) *topology.Selector {
	return x.podSelector(c.LabelSelector, labelKeys(nil, c.MatchLabelKeys, own, requirement.In))
}

// labelKeys appends the expressions for the pod's values of label keys. A label that the pod does not have is skipped.
func labelKeys(to []requirement.Requirement, keys []string, own map[string]string, op requirement.Operator) []requirement.Requirement {
	for _, key := range keys {
		if value, ok := own[key]; ok {
			to = append(to, requirement.New(key, op, value))
		}
	}
	return to
}

func (x *podSpecs) required(to []topology.Affinity, terms []corev1.PodAffinityTerm, pod *corev1.Pod, anti bool) []topology.Affinity {
	for i := range terms {
		to = append(to, x.affinity(&terms[i], pod, anti, 0))
	}
	return to
}

// preferred appends preferred terms, highest weight first. Terms without weight are ignored.
func (x *podSpecs) preferred(to []topology.Affinity, terms []corev1.WeightedPodAffinityTerm, pod *corev1.Pod, anti bool) []topology.Affinity {
	if x.ignorePreferences {
		return to
	}
	first := len(to)
	for i := range terms {
		if terms[i].Weight > 0 {
			to = append(to, x.affinity(&terms[i].PodAffinityTerm, pod, anti, terms[i].Weight))
		}
	}
	slices.SortStableFunc(to[first:], func(a, b topology.Affinity) int { return int(b.Weight) - int(a.Weight) })
	return to
}

func (x *podSpecs) affinity(term *corev1.PodAffinityTerm, pod *corev1.Pod, anti bool, weight int32) topology.Affinity {
	keyed := labelKeys(nil, term.MatchLabelKeys, pod.Labels, requirement.In)
	keyed = labelKeys(keyed, term.MismatchLabelKeys, pod.Labels, requirement.NotIn)
	a := topology.Affinity{
		Key:        x.labels.rules.Normalize(term.TopologyKey),
		Anti:       anti,
		Weight:     weight,
		Selector:   x.podSelector(term.LabelSelector, keyed),
		Namespaces: sortedUnique(slices.Clone(term.Namespaces)),
	}
	switch {
	case term.NamespaceSelector != nil:
		a.NamespaceSelector = x.podSelector(term.NamespaceSelector, nil)
	case len(a.Namespaces) == 0:
		a.Namespaces = []string{pod.Namespace}
	}
	return a
}

// podSelector translates a label selector, narrowed further by more. Labels of pods and namespaces are not normalized. No selector
// selects nothing, an empty one everything, and an invalid one nothing. Equal selectors share one value.
func (x *podSpecs) podSelector(s *metav1.LabelSelector, more []requirement.Requirement) *topology.Selector {
	if s == nil {
		return nil
	}
	var space [256]byte
	id := appendLabels(space[:0], s.MatchLabels)
	id = binary.AppendUvarint(id, uint64(len(s.MatchExpressions)))
	for i := range s.MatchExpressions {
		e := &s.MatchExpressions[i]
		id = appendStrings(appendString(appendString(id, e.Key), string(e.Operator)), e.Values)
	}
	id = appendSet(id, more)
	return x.selectors.of(id, func() *topology.Selector {
		// Equal labels need no check: a value that no label can have selects no pod.
		if len(s.MatchExpressions) > 0 {
			if _, err := metav1.LabelSelectorAsSelector(s); err != nil {
				return topology.NewSelector(unsatisfiable())
			}
		}
		return topology.NewSelector(requirement.NewSet(append(selectorTerms(s), more...)...))
	})
}

// selectorTerms are the terms of a valid selector.
func selectorTerms(s *metav1.LabelSelector) []requirement.Requirement {
	terms := make([]requirement.Requirement, 0, len(s.MatchLabels)+len(s.MatchExpressions))
	for key, value := range s.MatchLabels {
		terms = append(terms, requirement.New(key, requirement.In, value))
	}
	for _, e := range s.MatchExpressions {
		terms = append(terms, requirement.New(e.Key, requirement.Operator(e.Operator), e.Values...))
	}
	return terms
}

// unsatisfiable matches no pod: a label cannot exist and not exist.
func unsatisfiable() requirement.Set {
	const key = "invalid-selector"
	return requirement.NewSet(requirement.New(key, requirement.Exists), requirement.New(key, requirement.DoesNotExist))
}
