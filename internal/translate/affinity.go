package translate

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// labelTerms translates node selectors and node affinity by the label rules of a cloud.
type labelTerms struct{ rules v1.LabelRules }

func (l labelTerms) selector(labels map[string]string) requirement.Set {
	return cloud.LabelRequirements(labels, l.rules)
}

// expressions is the conjunction of match expressions; entries of one key are intersected.
func (l labelTerms) expressions(list []corev1.NodeSelectorRequirement) requirement.Set {
	reqs := make([]requirement.Requirement, len(list))
	for i, e := range list {
		reqs[i] = cloud.Requirement(e.Key, e.Operator, e.Values, l.rules)
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

func (l labelTerms) nodeAffinity(s *model.Shape, a *corev1.Affinity) {
	for _, term := range requiredTerms(a) {
		if emptyTerm(term) {
			continue
		}
		s.Required = append(s.Required, l.expressions(term.MatchExpressions))
	}
}

// preferences sets the preferred terms, highest weight first, and returns those that are ignored because they are invalid. Like
// kube-scheduler, it ignores empty terms.
func (l labelTerms) preferences(s *model.Shape, a *corev1.Affinity) notes {
	var ignored notes
	terms := preferredTerms(a)
	for i := range terms {
		p := &terms[i]
		if emptyTerm(p.Preference) {
			continue
		}
		if problem := l.preferenceProblem(&p.Preference); problem != "" {
			ignored = append(ignored, problem)
			continue
		}
		s.Preferred = append(s.Preferred, model.Preference{Weight: p.Weight, Terms: l.expressions(p.Preference.MatchExpressions)})
	}
	slices.SortStableFunc(s.Preferred, func(a, b model.Preference) int { return int(b.Weight) - int(a.Weight) })
	return ignored
}

// emptyTerm reports whether a term is empty. An empty term matches no node.
func emptyTerm(term corev1.NodeSelectorTerm) bool {
	return len(term.MatchExpressions) == 0 && len(term.MatchFields) == 0
}

// excludes reports whether the pod's node affinity, including its preference of highest weight, excludes nodes with the label.
func (l labelTerms) excludes(pod *corev1.Pod, key string) bool {
	var s model.Shape
	s.Selector = l.selector(pod.Spec.NodeSelector)
	l.nodeAffinity(&s, pod.Spec.Affinity)
	l.preferences(&s, pod.Spec.Affinity)
	full := s.Strict(0)
	if len(s.Preferred) > 0 {
		full = full.And(s.Preferred[0].Terms)
	}
	avoids := full.Get(key)
	return avoids.Operator() == requirement.DoesNotExist && avoids.AllowsAbsence()
}

// reject returns why a pending pod cannot be scheduled, specBytes being the length of its key in the spec cache, and whether it opts out of Karpenter's nodes, for which there is no
// event. trouble is the problem with its volumes, or empty. Every other field that it reads has to be in the key of the spec
// cache.
// Source: scheduling specification, pod validation.
func (l labelTerms) reject(pod *corev1.Pod, trouble string, specBytes int) (why string, silent bool) {
	var problems []string
	if trouble != "" {
		problems = append(problems, trouble)
	}
	if key := v1.NodePoolLabelKey; l.excludes(pod, key) {
		silent = true
		problems = append(problems, "configured to not run on a Karpenter provisioned node (requirement="+key+" DoesNotExist)")
	}
	if exceeded := tooComplex(pod, specBytes); len(exceeded) > 0 {
		return strings.Join(sortedUnique(append(problems, exceeded...)), "; "), silent
	}
	for key, value := range pod.Spec.NodeSelector {
		entry := v1.NodeSelectorRequirementWithMinValues{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}
		if err := v1.ValidateRequirement(entry, l.rules); err != nil {
			problems = append(problems, err.Error())
		}
	}
	terms := requiredTerms(pod.Spec.Affinity)
	if len(terms) > 0 && !slices.ContainsFunc(terms, func(term corev1.NodeSelectorTerm) bool { return !emptyTerm(term) }) {
		problems = append(problems, "required node affinity has only empty terms, which match no node")
	}
	for _, term := range terms {
		if len(term.MatchFields) > 0 {
			problems = append(problems, "node selector term with matchFields is not supported")
		}
		for _, e := range term.MatchExpressions {
			entry := v1.NodeSelectorRequirementWithMinValues{Key: e.Key, Operator: e.Operator, Values: e.Values}
			if err := v1.ValidateRequirement(entry, l.rules); err != nil {
				problems = append(problems, err.Error())
			}
		}
	}
	return strings.Join(sortedUnique(problems), "; "), silent
}

func sortedUnique(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}
