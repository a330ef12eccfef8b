package translate

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// Complexity budgets of a pod. They are far above what workloads use (a handful of terms each), and keep the effort of planning one pod,
// and the size of its NodeClaim, in bounds. Page docs/reference/limits.md lists them.
const (
	// MaxPreferences is the number of preferences and soft spread constraints of a pod that are considered; others are ignored.
	MaxPreferences = 50
	// MaxAlternatives is the number of terms of required node affinity.
	MaxAlternatives = 100
	// MaxPodConstraints is the number of required spread constraints and terms of required pod affinity and anti-affinity.
	MaxPodConstraints = 100
	// MaxLabelKeys is the number of labels in the node selector and in one term of node affinity. A NodeClaim holds 100 requirements.
	MaxLabelKeys = 60
	// MaxValues is the number of values of one expression of node affinity, and of fields of one term, which have one value each.
	MaxValues = 2000
	// MaxTolerations is the number of tolerations.
	MaxTolerations = 500
	// MaxContainers is the number of containers, init containers included.
	MaxContainers = 500
	// MaxSpecBytes is the approximate number of bytes of what scheduling reads of a pod: resources, host ports, tolerations, selectors and
	// constraints.
	MaxSpecBytes = 256 << 10
)

// maxNotes is the number of ignored preferences that a message names.
const maxNotes = 3

// notes are preferences that are ignored, with the reason of each.
type notes []string

// String joins the first notes.
func (n notes) String() string {
	list := sortedUnique(slices.Clone(n))
	if more := len(list) - maxNotes; more > 0 {
		list = append(list[:maxNotes], fmt.Sprintf("%d more", more))
	}
	return strings.Join(list, "; ")
}

// tooComplex lists the budgets that a pod exceeds; specBytes is the length of what scheduling reads of it.
func tooComplex(pod *corev1.Pod, specBytes int) []string {
	var out []string
	check := func(count, most int, what string) {
		if count > most {
			out = append(out, fmt.Sprintf("the pod has %d %s, at most %d are supported", count, what, most))
		}
	}
	spec := &pod.Spec
	check(specBytes, MaxSpecBytes, "bytes of scheduling constraints")
	check(len(spec.Tolerations), MaxTolerations, "tolerations")
	check(len(spec.Containers)+len(spec.InitContainers), MaxContainers, "containers")
	check(len(spec.NodeSelector), MaxLabelKeys, "labels in its node selector")
	terms := requiredTerms(spec.Affinity)
	check(len(terms), MaxAlternatives, "terms of required node affinity")
	for _, term := range terms[:min(len(terms), MaxAlternatives)] {
		check(len(term.MatchExpressions), MaxLabelKeys, "expressions in a term of required node affinity")
		check(len(term.MatchFields), MaxValues, "fields in a term of required node affinity")
		for i := range term.MatchExpressions {
			check(len(term.MatchExpressions[i].Values), MaxValues, "values in an expression of required node affinity")
		}
	}
	check(podConstraints(spec), MaxPodConstraints, "required spread and pod affinity constraints")
	return out
}

// podConstraints is the number of required constraints on other pods.
func podConstraints(spec *corev1.PodSpec) int {
	n := 0
	for i := range spec.TopologySpreadConstraints {
		if !soft(&spec.TopologySpreadConstraints[i]) {
			n++
		}
	}
	if a := spec.Affinity; a != nil {
		if a.PodAffinity != nil {
			n += len(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
		}
		if a.PodAntiAffinity != nil {
			n += len(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
		}
	}
	return n
}

// preferenceProblem is why a preferred term is invalid, or can never be met by a node, or empty. kube-scheduler does not reject such a term: it does
// not score nodes for a pod with a term that it cannot parse, and binds the pod if only one node is feasible. So the pod is planned
// without the term. A preference for the name of a node is valid: existing nodes may meet it, and NodeClaims never have it.
func (l labelTerms) preferenceProblem(term *corev1.NodeSelectorTerm) string {
	switch {
	case fieldProblem(term.MatchFields) != "":
		return fieldProblem(term.MatchFields)
	case len(term.MatchFields) > MaxValues:
		return fmt.Sprintf("a term has %d fields, at most %d are supported", len(term.MatchFields), MaxValues)
	case len(term.MatchExpressions) > MaxLabelKeys:
		return fmt.Sprintf("a term has %d expressions, at most %d are supported", len(term.MatchExpressions), MaxLabelKeys)
	}
	for i := range term.MatchExpressions {
		e := &term.MatchExpressions[i]
		if len(e.Values) > MaxValues {
			return fmt.Sprintf("key %q has %d values, at most %d are supported", e.Key, len(e.Values), MaxValues)
		}
		errs := v1.RequirementErrors(v1.NodeSelectorRequirementWithMinValues{Key: e.Key, Operator: e.Operator, Values: e.Values}, l.rules)
		if e.Key == corev1.LabelHostname && l.rules.Restricted(e.Key) && len(errs) == 1 {
			continue // only that the label is restricted
		}
		if len(errs) > 0 {
			return errs[0].Error()
		}
	}
	return ""
}

// boundPreferences cuts the preferences of a shape to MaxPreferences: preferred node affinity first, then pod affinity and
// anti-affinity, each highest weight first, then spread constraints.
func boundPreferences(s *model.Shape) notes {
	count := s.SoftConstraints()
	if count <= MaxPreferences {
		return nil
	}
	s.Preferred = s.Preferred[:min(len(s.Preferred), MaxPreferences)]
	left := MaxPreferences - len(s.Preferred)
	take := func() bool { left--; return left >= 0 }
	affinities := s.Affinities[:0]
	for _, a := range s.Affinities {
		if a.Required() || take() {
			affinities = append(affinities, a)
		}
	}
	spreads := s.Spreads[:0]
	for _, c := range s.Spreads {
		if !c.Soft || take() {
			spreads = append(spreads, c)
		}
	}
	s.Affinities, s.Spreads = affinities, spreads
	return notes{fmt.Sprintf("the pod has %d preferences and soft constraints, at most %d are considered", count, MaxPreferences)}
}
