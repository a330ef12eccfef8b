package translate

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/karpenter-anew/karpenter/api/podrules"
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

// term is the conjunction of what a term matches. A field is a requirement that only existing nodes can meet by having it.
func (l labelTerms) term(t *corev1.NodeSelectorTerm) requirement.Set {
	if len(t.MatchFields) == 0 {
		return l.expressions(t.MatchExpressions)
	}
	reqs := slices.Grow([]requirement.Requirement(l.expressions(t.MatchExpressions)), len(t.MatchFields))
	for _, f := range t.MatchFields {
		reqs = append(reqs, requirement.New(f.Key+requirement.FieldSuffix, requirement.Operator(f.Operator), f.Values...))
	}
	return requirement.Gather(reqs)
}

// nodeAffinity sets the alternatives of required node affinity. Those that name an existing node come first: then the last one, whose
// preferences are relaxed one by one and of which the reason against an unschedulable pod is given, is one that new nodes can meet, if there is any.
func (l labelTerms) nodeAffinity(s *model.Shape, pod *corev1.Pod) {
	named := 0
	for _, term := range requiredTerms(pod.Spec.Affinity) {
		if emptyTerm(term) {
			continue
		}
		if followsDaemonSet(pod) {
			term.MatchFields = nil
		}
		set := l.term(&term)
		if i, ok := set.Find(requirement.NodeName); ok && !set[i].AllowsAbsence() {
			s.Required = slices.Insert(s.Required, named, set)
			named++
			continue
		}
		s.Required = append(s.Required, set)
	}
}

// followsDaemonSet reports whether the DaemonSet controller names the node of the pod in its node affinity. The name is left out: such a pod stays
// on its node, and all pods of the DaemonSet have one shape. Source: Kubernetes documentation, how DaemonSet pods are scheduled.
func followsDaemonSet(pod *corev1.Pod) bool { return podrules.OwnedByDaemonSet(pod) }

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
		s.Preferred = append(s.Preferred, model.Preference{Weight: p.Weight, Terms: l.term(&p.Preference)})
	}
	slices.SortStableFunc(s.Preferred, func(a, b model.Preference) int { return int(b.Weight) - int(a.Weight) })
	return ignored
}

// emptyTerm reports whether a term is empty. An empty term matches no node.
func emptyTerm(term corev1.NodeSelectorTerm) bool {
	return len(term.MatchExpressions) == 0 && len(term.MatchFields) == 0
}

// fieldProblem returns why the API server refuses match fields, or "". Objects of files and snapshots may have what it refuses.
func fieldProblem(fields []corev1.NodeSelectorRequirement) string {
	for _, f := range fields {
		if f.Key != metav1.ObjectNameField {
			return fmt.Sprintf("matchFields has field %q, only %s is supported", f.Key, metav1.ObjectNameField)
		}
		if f.Operator != corev1.NodeSelectorOpIn && f.Operator != corev1.NodeSelectorOpNotIn || len(f.Values) != 1 {
			return fmt.Sprintf("matchFields has operator %q with %d values, only In and NotIn with one value are supported", f.Operator, len(f.Values))
		}
	}
	return ""
}

// unparsable returns why kube-scheduler cannot parse a term, or "". Such a term matches no node. The API server accepts some: Gt and Lt with
// a label value that is no integer, terms that are older than its validation, and any value in the topologies of a StorageClass. In a
// NodeClaim it would refuse them.
func unparsable(term corev1.NodeSelectorTerm) string {
	_, err := nodeaffinity.NewNodeSelector(&corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}})
	if err == nil {
		return ""
	}
	return strings.ReplaceAll(err.Error(), "nodeSelectorTerms[0].", "")
}

// excludes reports whether the pod's node affinity, including its preference of highest weight, excludes nodes with the label.
func (l labelTerms) excludes(pod *corev1.Pod, key string) bool {
	if !l.mentions(pod, key) {
		return false
	}
	var s model.Shape
	s.Selector = l.selector(pod.Spec.NodeSelector)
	l.nodeAffinity(&s, pod)
	l.preferences(&s, pod.Spec.Affinity)
	full := s.Strict(0)
	if len(s.Preferred) > 0 {
		full = full.And(s.Preferred[0].Terms)
	}
	avoids := full.Get(key)
	return avoids.Operator() == requirement.DoesNotExist && avoids.AllowsAbsence()
}

// mentions reports whether the node selector or the node affinity of the pod has a term on the label.
func (l labelTerms) mentions(pod *corev1.Pod, key string) bool {
	for name := range pod.Spec.NodeSelector {
		if l.rules.Normalize(name) == key {
			return true
		}
	}
	on := func(e corev1.NodeSelectorRequirement) bool { return l.rules.Normalize(e.Key) == key }
	return slices.ContainsFunc(requiredTerms(pod.Spec.Affinity), func(term corev1.NodeSelectorTerm) bool {
		return slices.ContainsFunc(term.MatchExpressions, on)
	}) || slices.ContainsFunc(preferredTerms(pod.Spec.Affinity), func(term corev1.PreferredSchedulingTerm) bool {
		return slices.ContainsFunc(term.Preference.MatchExpressions, on)
	})
}

// reject returns why a pending pod cannot be scheduled, and whether it opts out of Karpenter's nodes, for which there is no event. trouble
// is the problem with its volumes, or empty. specBytes is the length of its key in the spec cache; 0 leaves the size unchecked, for a
// pod that has such a problem anyway. Every other field that it reads has to be in the key of the spec cache.
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
		if problem := fieldProblem(term.MatchFields); problem != "" {
			problems = append(problems, problem)
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
