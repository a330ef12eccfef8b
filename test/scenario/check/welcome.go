package check

import (
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// welcome reports whether a pod could go to a new machine without breaking a demand about other pods, its own or theirs. It
// says no where it is not sure.
func (j *judge) welcome(pod *corev1.Pod, m machine) bool {
	labels := maps.Clone(m.node.Labels)
	labels[corev1.LabelHostname] = "(another)"
	at := &site{name: "another", options: []map[string]string{labels}, taints: m.node.Spec.Taints}
	for _, other := range j.sites {
		for _, q := range other.pods() {
			if j.repel(pod, at, q, other) || other.planned && j.apart(pod, q) {
				return false
			}
		}
	}
	for _, term := range near(pod) {
		if !j.lies(at, term.TopologyKey) || !j.joinsNode(pod, at, &term) && !j.unique(pod, &term) {
			return false
		}
	}
	for _, term := range far(pod) {
		if !j.lies(at, term.TopologyKey) {
			return false
		}
	}
	for _, s := range spreads(pod) {
		if !j.leaves(s, at) {
			return false
		}
	}
	return true
}

// apart reports whether two pods may not share domains larger than machines. While a claim is being filled, what it becomes in
// the end is open: it blocks every domain that it may take.
func (j *judge) apart(a, b *corev1.Pod) bool {
	wide := func(owner, pod *corev1.Pod) bool {
		return slices.ContainsFunc(far(owner), func(term corev1.PodAffinityTerm) bool {
			return term.TopologyKey != corev1.LabelHostname && j.means(&term, owner, pod)
		})
	}
	return wide(a, b) || wide(b, a)
}

// lies reports whether the site is in a domain of the key that pools name. A key without domains keeps pods waiting.
func (j *judge) lies(at *site, key string) bool {
	value, ok := at.decided(key)
	return ok && (key == corev1.LabelHostname || j.named(key)[value])
}

// joinsNode is joined for pods on nodes that exist. Where a claim that is being filled ends up is open.
func (j *judge) joinsNode(pod *corev1.Pod, at *site, term *corev1.PodAffinityTerm) bool {
	settled := &judge{namespaces: j.namespaces}
	for _, other := range j.sites {
		if !other.planned {
			settled.sites = append(settled.sites, other)
		}
	}
	return settled.joined(pod, at, term)
}

// unique reports whether the pod is the only one anywhere that its term means.
func (j *judge) unique(pod *corev1.Pod, term *corev1.PodAffinityTerm) bool {
	for _, other := range j.sites {
		for _, q := range other.pods() {
			if j.means(term, pod, q) {
				return false
			}
		}
	}
	return j.means(term, pod, pod)
}

// leaves reports whether a spread surely allows its owner on the site: even if every pod that may be in the domain is, and
// none that may be elsewhere is.
func (j *judge) leaves(s spread, at *site) bool {
	if !j.lies(at, s.TopologyKey) {
		return false
	}
	value, _ := at.decided(s.TopologyKey)
	known := j.everywhere(s.TopologyKey)
	hosts := s.TopologyKey == corev1.LabelHostname
	most, sure := 0, map[string]int{}
	for _, other := range j.sites {
		domain, decided := other.decided(s.TopologyKey)
		for _, pod := range other.pods() {
			if !s.counts(pod) {
				continue
			}
			if other.may(s.TopologyKey, value) {
				most++
			}
			// Where a claim ends up is open while it is being filled, unless a pod like the owner decided it.
			if decided && s.looksAtAll(other) && (!other.planned || s.shared(pod)) {
				sure[domain]++
			}
		}
	}
	if s.counts(s.owner) {
		most++
	}
	least := math.MaxInt
	for domain := range known {
		if admits(s.owner, s.TopologyKey, domain) {
			least = min(least, sure[domain])
		}
	}
	if hosts || s.MinDomains != nil && len(j.withinReach(s, at)) < int(*s.MinDomains) {
		least = 0
	}
	return most-least <= int(s.MaxSkew)
}
