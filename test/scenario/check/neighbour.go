package check

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// near and far are the required terms of pod affinity and anti-affinity.
func near(pod *corev1.Pod) []corev1.PodAffinityTerm {
	if a := pod.Spec.Affinity; a != nil && a.PodAffinity != nil {
		return a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return nil
}

func far(pod *corev1.Pod) []corev1.PodAffinityTerm {
	if a := pod.Spec.Affinity; a != nil && a.PodAntiAffinity != nil {
		return a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return nil
}

// chooses reports whether a label selector, narrowed by labels of its owner, chooses a pod. No selector and one that is not
// valid choose none.
func chooses(selector *metav1.LabelSelector, keys, unlike []string, owner, pod *corev1.Pod) bool {
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

// means reports whether a term of the owner is about the pod.
func (j *judge) means(term *corev1.PodAffinityTerm, owner, pod *corev1.Pod) bool {
	if !chooses(term.LabelSelector, term.MatchLabelKeys, term.MismatchLabelKeys, owner, pod) {
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

// meet reports whether two sites can come to lie in one domain of a key.
func meet(a, b *site, key string) bool {
	if a == b {
		return len(a.values(key)) > 0
	}
	return slices.ContainsFunc(a.values(key), func(value string) bool { return b.may(key, value) })
}

// repulsion holds required anti-affinity up, that of arrivals and that against them.
func (j *judge) repulsion() {
	for _, at := range j.sites {
		for _, pod := range at.arrivals {
			for _, other := range j.sites {
				for _, q := range other.pods() {
					if q != pod && j.repel(pod, at, q, other) {
						j.fail("pod %s on %s and pod %s on %s must be kept apart", pod.Name, at.name, q.Name, other.name)
					}
				}
			}
		}
	}
}

// repel reports whether a term of one of two pods may be broken where they are.
func (j *judge) repel(a *corev1.Pod, at *site, b *corev1.Pod, bt *site) bool {
	broken := func(owner, pod *corev1.Pod) bool {
		return slices.ContainsFunc(far(owner), func(term corev1.PodAffinityTerm) bool {
			return j.means(&term, owner, pod) && meet(at, bt, term.TopologyKey)
		})
	}
	return broken(a, b) || broken(b, a)
}

// attraction holds required affinity up for arrivals.
func (j *judge) attraction() {
	for _, at := range j.sites {
		for _, pod := range at.arrivals {
			for _, term := range near(pod) {
				if !at.always(term.TopologyKey) {
					j.fail("pod %s on %s: the machine may come without %s, which its affinity is about", pod.Name, at.name, term.TopologyKey)
					continue
				}
				if !j.joined(pod, at, &term) && !j.founds(pod, at, &term) {
					j.fail("pod %s on %s is not near the pods that it must be near (%s)", pod.Name, at.name, term.TopologyKey)
				}
			}
		}
	}
}

// joined reports whether a pod that the term means is in the domain of the site, whatever becomes of both machines.
func (j *judge) joined(pod *corev1.Pod, at *site, term *corev1.PodAffinityTerm) bool {
	meant := func(q *corev1.Pod) bool { return q != pod && j.means(term, pod, q) }
	if slices.ContainsFunc(at.pods(), meant) {
		return true
	}
	there := map[string]bool{}
	for _, other := range j.sites {
		if value, decided := other.decided(term.TopologyKey); decided && slices.ContainsFunc(other.pods(), meant) {
			there[value] = true
		}
	}
	return !slices.ContainsFunc(at.values(term.TopologyKey), func(value string) bool { return !there[value] })
}

// founds reports whether the pod may be the first of its kind where it is: the term means the pod itself, and no pod that it
// means runs already where the pod could go, by the alternative of node affinity that is left.
func (j *judge) founds(pod *corev1.Pod, at *site, term *corev1.PodAffinityTerm) bool {
	return j.means(term, pod, pod) && slices.ContainsFunc(alternatives(pod), func(alternative *corev1.Pod) bool {
		return !slices.ContainsFunc(j.sites, func(other *site) bool {
			value, sure := other.decided(term.TopologyKey)
			return other != at && sure && admits(alternative, term.TopologyKey, value) &&
				slices.ContainsFunc(other.here, func(q *corev1.Pod) bool { return j.means(term, pod, q) })
		})
	})
}

// admits reports whether the pod's own demands on the key let it go where the label has the value.
func admits(pod *corev1.Pod, key, value string) bool {
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

// companies finds pods that are to be near each other and are not: of two domains with no other pods that they mean, the
// later one must have been started by a pod that could not join the earlier one.
func (j *judge) companies() {
	for _, at := range j.sites {
		for _, pod := range at.arrivals {
			for _, term := range near(pod) {
				if value, decided := at.decided(term.TopologyKey); decided && j.means(&term, pod, pod) {
					j.company(pod, value, &term)
				}
			}
		}
	}
}

func (j *judge) company(pod *corev1.Pod, value string, term *corev1.PodAffinityTerm) {
	apart := ""
	for _, other := range j.sites {
		there, decided := other.decided(term.TopologyKey)
		for _, q := range other.pods() {
			switch {
			case !j.means(term, pod, q):
			case !decided || slices.Contains(other.here, q) || q.Spec.String() != pod.Spec.String():
				return // a pod of another kind may have been there first
			case there != value:
				apart = there
			}
		}
	}
	if apart != "" && admits(pod, term.TopologyKey, apart) {
		j.fail("pods like %s must be near each other and are in %s %s and %s", pod.Name, term.TopologyKey, value, apart)
	}
}
