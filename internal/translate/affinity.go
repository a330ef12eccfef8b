package translate

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

func (t *Translator) selector(labels map[string]string) requirement.Set {
	return cloud.LabelRequirements(labels, t.labels)
}

// expressions is the conjunction of match expressions; entries of one key are intersected.
func (t *Translator) expressions(list []corev1.NodeSelectorRequirement) requirement.Set {
	reqs := make([]requirement.Requirement, len(list))
	for i, e := range list {
		reqs[i] = cloud.Requirement(e.Key, e.Operator, e.Values, t.labels)
	}
	return requirement.Gather(reqs)
}

func requiredTerms(a *corev1.Affinity) []corev1.NodeSelectorTerm {
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return nil
	}
	return a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
}

func preferredTerms(a *corev1.Affinity) []corev1.PreferredSchedulingTerm {
	if a == nil || a.NodeAffinity == nil {
		return nil
	}
	return a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution
}

func (t *Translator) nodeAffinity(s *model.Shape, a *corev1.Affinity) {
	for _, term := range requiredTerms(a) {
		if emptyTerm(term) {
			continue
		}
		s.Required = append(s.Required, t.expressions(term.MatchExpressions))
	}
}

func (t *Translator) preferences(s *model.Shape, a *corev1.Affinity) {
	for _, p := range preferredTerms(a) {
		s.Preferred = append(s.Preferred, model.Preference{Weight: p.Weight, Terms: t.expressions(p.Preference.MatchExpressions)})
	}
	slices.SortStableFunc(s.Preferred, func(a, b model.Preference) int { return int(b.Weight) - int(a.Weight) })
}

// emptyTerm reports whether a term is empty. An empty term matches no node.
func emptyTerm(term corev1.NodeSelectorTerm) bool {
	return len(term.MatchExpressions) == 0 && len(term.MatchFields) == 0
}

// excludes reports whether the pod's node affinity, including its preference of highest weight, excludes nodes with the label.
func (t *Translator) excludes(pod *corev1.Pod, key string) bool {
	var s model.Shape
	s.Selector = t.selector(pod.Spec.NodeSelector)
	t.nodeAffinity(&s, pod.Spec.Affinity)
	t.preferences(&s, pod.Spec.Affinity)
	full := s.Strict(0)
	if len(s.Preferred) > 0 {
		full = full.And(s.Preferred[0].Terms)
	}
	avoids := full.Get(key)
	return avoids.Operator() == requirement.DoesNotExist && avoids.AllowsAbsence()
}

func sortedUnique(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}
