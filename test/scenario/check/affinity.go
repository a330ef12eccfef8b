package check

import (
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// requiredAffinity and requiredAntiAffinity are the required terms of a pod.
func requiredAffinity(pod *corev1.Pod) []corev1.PodAffinityTerm {
	if a := pod.Spec.Affinity; a != nil && a.PodAffinity != nil {
		return a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return nil
}

func requiredAntiAffinity(pod *corev1.Pod) []corev1.PodAffinityTerm {
	if a := pod.Spec.Affinity; a != nil && a.PodAntiAffinity != nil {
		return a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return nil
}

// selects reports whether a label selector, narrowed by labels of its owner, selects a pod. A missing or invalid selector selects none.
func selects(selector *metav1.LabelSelector, keys, unlike []string, owner, pod *corev1.Pod) bool {
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil || !s.Matches(labels.Set(pod.Labels)) {
		return false
	}
	same := func(key string) (equal, asked bool) {
		value, asked := owner.Labels[key]
		other, has := pod.Labels[key]
		return has && other == value, asked
	}
	for _, key := range keys {
		if equal, asked := same(key); asked && !equal {
			return false
		}
	}
	for _, key := range unlike {
		if equal, asked := same(key); asked && equal {
			return false
		}
	}
	return true
}

// termSelects reports whether a term of the owner selects the pod.
func (j *judge) termSelects(term *corev1.PodAffinityTerm, owner, pod *corev1.Pod) bool {
	if !selects(term.LabelSelector, term.MatchLabelKeys, term.MismatchLabelKeys, owner, pod) {
		return false
	}
	if term.NamespaceSelector == nil && len(term.Namespaces) == 0 {
		return pod.Namespace == owner.Namespace
	}
	if slices.Contains(term.Namespaces, pod.Namespace) {
		return true
	}
	s, err := metav1.LabelSelectorAsSelector(term.NamespaceSelector)
	return term.NamespaceSelector != nil && err == nil && (s.Empty() || s.Matches(labels.Set(j.namespaces[pod.Namespace])))
}

// mayShareDomain reports whether two nodes may be in one domain of a key.
func mayShareDomain(a, b *plannedNode, key string) bool {
	if a == b {
		return len(a.values(key)) > 0
	}
	return slices.ContainsFunc(a.values(key), func(value string) bool { return b.may(key, value) })
}

// antiAffinity checks required anti-affinity of the placed pods and against them.
func (j *judge) antiAffinity() {
	for _, at := range j.sites {
		for _, pod := range at.arrivals {
			for _, other := range j.sites {
				for _, q := range other.pods() {
					if q != pod && j.mayViolate(pod, at, q, other) {
						j.fail("pod %s on %s and pod %s on %s violate anti-affinity", pod.Name, at.name, q.Name, other.name)
					}
				}
			}
		}
	}
}

// mayViolate reports whether a term of one of two pods may be violated where they are.
func (j *judge) mayViolate(a *corev1.Pod, at *plannedNode, b *corev1.Pod, bt *plannedNode) bool {
	broken := func(owner, pod *corev1.Pod) bool {
		return slices.ContainsFunc(requiredAntiAffinity(owner), func(term corev1.PodAffinityTerm) bool {
			return j.termSelects(&term, owner, pod) && mayShareDomain(at, bt, term.TopologyKey)
		})
	}
	return broken(a, b) || broken(b, a)
}

// termsSelect reports whether all terms of the owner select the pod.
func (j *judge) termsSelect(terms []corev1.PodAffinityTerm, owner, pod *corev1.Pod) bool {
	return !slices.ContainsFunc(terms, func(term corev1.PodAffinityTerm) bool { return !j.termSelects(&term, owner, pod) })
}

// affinity checks required affinity of the placed pods: only pods that all terms select count.
func (j *judge) affinity() {
	for _, at := range j.sites {
		for _, pod := range at.arrivals {
			terms := requiredAffinity(pod)
			for _, term := range terms {
				if !at.always(term.TopologyKey) {
					j.fail("pod %s on %s: the node may have no label %s, the topology key of its affinity", pod.Name, at.name, term.TopologyKey)
				} else if !j.satisfied(pod, at, term.TopologyKey) && !j.starts(pod, at) {
					j.fail("pod %s on %s violates affinity by %s", pod.Name, at.name, term.TopologyKey)
				}
			}
		}
	}
}

// satisfied reports whether a pod that all terms of the pod's affinity select is in the domain of the node, whatever labels both nodes
// get.
func (j *judge) satisfied(pod *corev1.Pod, at *plannedNode, key string) bool {
	meant := func(q *corev1.Pod) bool { return q != pod && j.termsSelect(requiredAffinity(pod), pod, q) }
	if slices.ContainsFunc(at.pods(), meant) || at.daemonIs(meant) {
		return true
	}
	there := map[string]bool{}
	for _, other := range j.sites {
		if value, decided := other.decided(key); decided && (slices.ContainsFunc(other.pods(), meant) || other.daemonIs(meant)) {
			there[value] = true
		}
	}
	return !slices.ContainsFunc(at.values(key), func(value string) bool { return !there[value] })
}

// starts reports whether the pod may be the first of its group: its terms select the pod itself, and no pod that they select runs on a
// node with one of their labels.
func (j *judge) starts(pod *corev1.Pod, at *plannedNode) bool {
	terms := requiredAffinity(pod)
	return j.termsSelect(terms, pod, pod) && !slices.ContainsFunc(j.sites, func(other *plannedNode) bool {
		return other != at && slices.ContainsFunc(other.staying, func(q *corev1.Pod) bool { return j.termsSelect(terms, pod, q) }) &&
			slices.ContainsFunc(terms, func(term corev1.PodAffinityTerm) bool { return len(other.values(term.TopologyKey)) > 0 })
	})
}

// allowsDomain reports whether the pod's own requirements on the key allow the value.
func allowsDomain(pod *corev1.Pod, key, value string) bool {
	if want, ok := pod.Spec.NodeSelector[key]; ok && want != value {
		return false
	}
	a := pod.Spec.Affinity
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return true
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{key: value}}}
	for _, term := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		about := corev1.NodeSelectorTerm{}
		for _, e := range term.MatchExpressions {
			if e.Key == key {
				about.MatchExpressions = append(about.MatchExpressions, e)
			}
		}
		if len(about.MatchExpressions) == 0 {
			return true
		}
		selector, err := nodeaffinity.NewNodeSelector(&corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{about}})
		if err == nil && selector.Match(node) {
			return true
		}
	}
	return false
}

// selfAffinity finds pods with affinity to each other that started two domains.
func (j *judge) selfAffinity() {
	for _, at := range j.sites {
		for _, pod := range at.arrivals {
			terms := requiredAffinity(pod)
			for _, term := range terms {
				if value, decided := at.decided(term.TopologyKey); decided && j.termsSelect(terms, pod, pod) {
					j.noOtherDomain(pod, value, term.TopologyKey)
				}
			}
		}
	}
}

func (j *judge) noOtherDomain(pod *corev1.Pod, value, key string) {
	terms, apart := requiredAffinity(pod), ""
	for _, other := range j.sites {
		if other.daemonIs(func(q *corev1.Pod) bool { return j.termsSelect(terms, pod, q) }) {
			return // its pod may have been there first
		}
		there, decided := other.decided(key)
		for _, q := range other.pods() {
			switch {
			case !j.termsSelect(terms, pod, q):
			case !decided || slices.Contains(other.staying, q) || !reflect.DeepEqual(requiredAffinity(q), terms):
				return // a pod of another group may have been there first
			case there != value:
				apart = there
			}
		}
	}
	if apart != "" {
		j.fail("pods like %s violate affinity to each other: they are in %s %s and %s", pod.Name, key, value, apart)
	}
}

// keptAway reports whether required anti-affinity of a running pod keeps a DaemonSet pod off a node where it does not run yet.
func (j *judge) keptAway(d *corev1.Pod, on *corev1.Node) bool {
	for _, o := range j.Objects {
		node, ok := o.(*corev1.Node)
		if !ok {
			continue
		}
		for _, pod := range j.boundPods(node.Name) {
			if slices.ContainsFunc(requiredAntiAffinity(pod), func(term corev1.PodAffinityTerm) bool {
				value, has := node.Labels[term.TopologyKey]
				return has && on.Labels[term.TopologyKey] == value && j.termSelects(&term, pod, d)
			}) {
				return true
			}
		}
	}
	return false
}
