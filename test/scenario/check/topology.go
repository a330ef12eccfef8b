package check

import (
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// topologyAllows reports whether a pod could go to a new node without violating a constraint about other pods, its own or theirs. It
// returns false when that is not certain.
func (j *judge) topologyAllows(pod *corev1.Pod, m Candidate) bool {
	labels := maps.Clone(m.Node.Labels)
	labels[corev1.LabelHostname] = "(another)"
	at := &plannedNode{name: "another", options: []map[string]string{labels}, taints: m.Node.Spec.Taints}
	for _, other := range j.sites {
		for _, q := range other.pods() {
			if j.mayViolate(pod, at, q, other) || other.planned && j.mayNotShare(pod, q) || j.shareLateVolume(pod, q) && !sameZone(at, other) {
				return false
			}
		}
	}
	for _, d := range j.daemonsOn(m.Node, m.Allocatable) {
		if j.mayViolate(pod, at, d, at) {
			return false
		}
	}
	for _, term := range requiredAffinity(pod) {
		if !j.inKnownDomain(at, term.TopologyKey) || !j.satisfiedByNode(pod, at, term.TopologyKey) && !j.unique(pod, at) {
			return false
		}
	}
	for _, term := range requiredAntiAffinity(pod) {
		if len(at.values(term.TopologyKey)) > 0 && !j.inKnownDomain(at, term.TopologyKey) {
			return false
		}
	}
	for _, s := range spreads(pod) {
		if !j.spreadAllows(s, at) {
			return false
		}
	}
	return true
}

// mayNotShare reports whether two pods must not share domains larger than nodes. While a claim is being filled, its domain is not
// decided: it blocks every domain that it may get.
func (j *judge) mayNotShare(a, b *corev1.Pod) bool {
	wide := func(owner, pod *corev1.Pod) bool {
		return slices.ContainsFunc(requiredAntiAffinity(owner), func(term corev1.PodAffinityTerm) bool {
			return term.TopologyKey != corev1.LabelHostname && j.termSelects(&term, owner, pod)
		})
	}
	return wide(a, b) || wide(b, a)
}

// inKnownDomain reports whether the node is in a domain of the key that pools name. A key without domains keeps pods pending.
func (j *judge) inKnownDomain(at *plannedNode, key string) bool {
	value, ok := at.decided(key)
	return ok && (key == corev1.LabelHostname || j.poolDomains(key)[value])
}

// satisfiedByNode is satisfied for pods on existing nodes. The domain of a claim that is being filled is not decided.
func (j *judge) satisfiedByNode(pod *corev1.Pod, at *plannedNode, key string) bool {
	settled := &judge{namespaces: j.namespaces}
	for _, other := range j.sites {
		if !other.planned {
			settled.sites = append(settled.sites, other)
		}
	}
	return settled.satisfied(pod, at, key)
}

// unique reports whether the pod is the only one that all terms of its affinity select. Pods of DaemonSets that may start are others, except
// where their nodes share all domains of the terms with the node of the pod: it may be there whether they start or not.
func (j *judge) unique(pod *corev1.Pod, at *plannedNode) bool {
	terms := requiredAffinity(pod)
	meant := func(q *corev1.Pod) bool { return j.termsSelect(terms, pod, q) }
	for _, other := range j.sites {
		if slices.ContainsFunc(other.pods(), meant) {
			return false
		}
		if other.daemonMayBe(meant) && slices.ContainsFunc(terms, func(term corev1.PodAffinityTerm) bool { return !sameDomain(at, other, term.TopologyKey) }) {
			return false
		}
	}
	return meant(pod)
}

// sameDomain reports whether two nodes are certainly in one domain of a key.
func sameDomain(a, b *plannedNode, key string) bool {
	domain, decided := a.decided(key)
	other, otherDecided := b.decided(key)
	return decided && otherDecided && domain == other
}

// spreadAllows reports whether a spread certainly allows its owner on the node: even if every pod that may be in the domain is, and none
// that may be elsewhere is.
func (j *judge) spreadAllows(s spread, at *plannedNode) bool {
	if !s.selective() {
		return len(at.values(s.TopologyKey)) > 0
	}
	if !j.inKnownDomain(at, s.TopologyKey) {
		return false
	}
	value, _ := at.decided(s.TopologyKey)
	known := j.allDomains(s.TopologyKey)
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
			// The domain of a claim is not decided while it is being filled, unless a pod like the owner decided it. Pods on a node that is
			// being deleted are gone once it is.
			if decided && s.alwaysCountsNode(other) && (!other.planned || s.shared(pod)) && !other.leaving {
				sure[domain]++
			}
		}
	}
	if s.counts(s.owner) {
		most++
	}
	least := math.MaxInt
	for domain := range known {
		if !s.honorsAffinity() || allowsDomain(s.owner, s.TopologyKey, domain) {
			least = min(least, sure[domain])
		}
	}
	if hosts || s.MinDomains != nil && len(j.reachableDomains(s, at)) < int(*s.MinDomains) {
		least = 0
	}
	return most-least <= int(s.MaxSkew)
}
