package check

import (
	"maps"
	"math"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// spread is a hard constraint of a pod with what it counts.
type spread struct {
	*corev1.TopologySpreadConstraint
	owner *corev1.Pod
}

// spreads are the hard constraints of a pod that choose any pods at all.
func spreads(pod *corev1.Pod) []spread {
	var out []spread
	for i := range pod.Spec.TopologySpreadConstraints {
		if c := &pod.Spec.TopologySpreadConstraints[i]; c.WhenUnsatisfiable == corev1.DoNotSchedule && c.LabelSelector != nil {
			out = append(out, spread{c, pod})
		}
	}
	return out
}

// counts reports whether the constraint is about a pod.
func (s spread) counts(pod *corev1.Pod) bool {
	return pod.Namespace == s.owner.Namespace && chooses(s.LabelSelector, s.MatchLabelKeys, nil, s.owner, pod)
}

// looksAt reports whether pods on a machine with these labels and taints count.
func (s spread) looksAt(labels map[string]string, taints []corev1.Taint) bool {
	node := &corev1.Node{}
	node.Labels = withOldNames(labels)
	node.Name = labels[corev1.LabelHostname]
	if (s.NodeAffinityPolicy == nil || *s.NodeAffinityPolicy == corev1.NodeInclusionPolicyHonor) && !wants(s.owner, node) {
		return false
	}
	return s.NodeTaintsPolicy == nil || *s.NodeTaintsPolicy != corev1.NodeInclusionPolicyHonor || bears(s.owner, taints)
}

// looksAtAll reports whether the pods of a site count whatever becomes of it.
func (s spread) looksAtAll(at *site) bool {
	return !slices.ContainsFunc(at.options, func(labels map[string]string) bool { return !s.looksAt(labels, at.taints) })
}

// shared reports whether another pod has the same constraint with the same view of nodes.
func (s spread) shared(pod *corev1.Pod) bool {
	return slices.ContainsFunc(spreads(pod), func(o spread) bool {
		return reflect.DeepEqual(*s.TopologySpreadConstraint, *o.TopologySpreadConstraint) && maps.Equal(s.owner.Spec.NodeSelector, pod.Spec.NodeSelector) &&
			reflect.DeepEqual(s.owner.Spec.Affinity, pod.Spec.Affinity) && reflect.DeepEqual(s.owner.Spec.Tolerations, pod.Spec.Tolerations)
	})
}

// evenness holds hard spread up: where an arrival went, its domain is not too far above the emptiest one. That can be told
// from the outcome as long as every arrival that counts has the constraint too.
func (j *judge) evenness() {
	for _, at := range j.sites {
		seen := map[string]bool{}
		for _, pod := range at.arrivals {
			if text := pod.Spec.String() + pod.Namespace; !seen[text] {
				seen[text] = true
				for _, s := range spreads(pod) {
					j.even(s, at)
				}
			}
		}
	}
}

func (j *judge) even(s spread, at *site) {
	if !at.always(s.TopologyKey) {
		j.fail("pod %s on %s: the machine may come without %s, over which it is spread", s.owner.Name, at.name, s.TopologyKey)
		return
	}
	value, decided := at.decided(s.TopologyKey)
	count, others := map[string]int{}, false
	for _, other := range j.sites {
		domain, sure := other.decided(s.TopologyKey)
		for _, pod := range other.pods() {
			switch {
			case !s.counts(pod):
			case slices.Contains(other.arrivals, pod) && !s.shared(pod):
				others = true
			case sure && s.looksAtAll(other):
				count[domain]++
			}
		}
	}
	if others {
		return
	}
	if !decided {
		j.fail("pod %s on %s is spread over %s, and which one the machine gets is open", s.owner.Name, at.name, s.TopologyKey)
		return
	}
	// An alternative of node affinity that was given up does not count any more; which ones were is not known.
	best, low := math.MaxInt, 0
	for _, alternative := range alternatives(s.owner) {
		least := j.least(spread{s.TopologySpreadConstraint, alternative}, at, count)
		if apart := count[value] - least; apart < best {
			best, low = apart, least
		}
	}
	if best > int(s.MaxSkew) {
		j.fail("pod %s on %s: %d pods in %s %s, %d in another, more than %d apart", s.owner.Name, at.name, count[value], s.TopologyKey, value, low, s.MaxSkew)
	}
}

// alternatives are the pod with each of its terms of required node affinity alone.
func alternatives(pod *corev1.Pod) []*corev1.Pod {
	a := pod.Spec.Affinity
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return []*corev1.Pod{pod}
	}
	var out []*corev1.Pod
	for _, term := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		one := pod.DeepCopy()
		one.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms = []corev1.NodeSelectorTerm{term}
		out = append(out, one)
	}
	return out
}

// least is the count that a spread measures from.
func (j *judge) least(s spread, at *site, count map[string]int) int {
	if s.TopologyKey == corev1.LabelHostname || s.MinDomains != nil && len(j.everywhere(s.TopologyKey)) < int(*s.MinDomains) {
		return 0
	}
	least := math.MaxInt
	for domain := range j.withinReach(s, at) {
		least = min(least, count[domain])
	}
	return least
}

// withinReach are domains that the owner could use: those of nodes that take it, of machines that pools sell to it, and
// where it is.
func (j *judge) withinReach(s spread, at *site) map[string]bool {
	out, known := map[string]bool{}, j.everywhere(s.TopologyKey)
	for _, value := range at.values(s.TopologyKey) {
		out[value] = true
	}
	take := func(labels map[string]string, taints []corev1.Taint) {
		node := &corev1.Node{}
		node.Labels, node.Name = withOldNames(labels), labels[corev1.LabelHostname]
		if value, ok := labels[s.TopologyKey]; ok && known[value] && wants(s.owner, node) && bears(s.owner, taints) {
			out[value] = true
		}
	}
	for _, other := range j.sites {
		if node, claim := j.find(other.name, ""); node != nil && !deleting(node, claim) {
			take(other.options[0], other.taints)
		}
	}
	for name, types := range j.Types {
		pool := j.pools[name]
		combinations := j.customLabels(s.owner, pool)
		for _, t := range types {
			for _, m := range j.possible(t, pool, combinations) {
				take(m.node.Labels, m.node.Spec.Taints)
			}
		}
	}
	return out
}

// everywhere are all values of the key that nodes have, or that pools name.
func (j *judge) everywhere(key string) map[string]bool {
	out := maps.Clone(j.named(key))
	for _, o := range j.Objects {
		if node, ok := o.(*corev1.Node); ok {
			if value, ok := withOldNames(node.Labels)[key]; ok {
				out[value] = true
			}
		}
	}
	return out
}

// named are all values of the key that pools which can launch something name, as far as the pools allow them.
func (j *judge) named(key string) map[string]bool {
	if known, ok := j.memo.named[key]; ok {
		return known
	}
	out := map[string]bool{}
	j.memo.named[key] = out
	for name, types := range j.Types {
		pool := j.pools[name]
		listed := slices.Clone(pool.Spec.Template.Spec.Requirements)
		own, labelled := pool.Spec.Template.Labels[key]
		if labelled {
			listed = append(listed, cloud.In(key, own))
		}
		some := false
		for _, t := range types {
			if len(j.possible(t, pool, j.customLabels(&corev1.Pod{}, pool))) > 0 {
				listed, some = append(listed, t.Requirements...), true
			}
		}
		for _, r := range listed {
			for _, value := range r.Values {
				open := (!labelled || value == own) && !slices.ContainsFunc(pool.Spec.Template.Spec.Requirements, func(r v1.NodeSelectorRequirementWithMinValues) bool {
					return r.Key == key && !allows(r, map[string]string{key: value})
				})
				if some && open && r.Key == key && r.Operator == corev1.NodeSelectorOpIn {
					out[value] = true
				}
			}
		}
	}
	return out
}
