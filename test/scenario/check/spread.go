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

// spread is a DoNotSchedule constraint of a pod with what it counts.
type spread struct {
	*corev1.TopologySpreadConstraint
	owner *corev1.Pod
}

// spreads are the DoNotSchedule constraints of a pod.
func spreads(pod *corev1.Pod) []spread {
	var out []spread
	for i := range pod.Spec.TopologySpreadConstraints {
		if c := &pod.Spec.TopologySpreadConstraints[i]; c.WhenUnsatisfiable == corev1.DoNotSchedule {
			out = append(out, spread{c, pod})
		}
	}
	return out
}

// selective reports whether the constraint has a selector that is not empty. Others count no pod.
func (s spread) selective() bool {
	keyed := slices.ContainsFunc(s.MatchLabelKeys, func(key string) bool { _, ok := s.owner.Labels[key]; return ok })
	return s.LabelSelector != nil && (keyed || len(s.LabelSelector.MatchLabels)+len(s.LabelSelector.MatchExpressions) > 0)
}

// counts reports whether the constraint counts a pod.
func (s spread) counts(pod *corev1.Pod) bool {
	return s.selective() && pod.Namespace == s.owner.Namespace && selects(s.LabelSelector, s.MatchLabelKeys, nil, s.owner, pod)
}

// countsDaemons reports whether the constraint counts pods of DaemonSets.
func (j *judge) countsDaemons(s spread) bool { return slices.ContainsFunc(j.daemons, s.counts) }

// honorsAffinity reports whether nodes that the owner may not use by its node affinity are left out.
func (s spread) honorsAffinity() bool {
	return s.NodeAffinityPolicy == nil || *s.NodeAffinityPolicy == corev1.NodeInclusionPolicyHonor
}

// countsNode reports whether pods on a node with these labels and taints count: it has the labels of all constraints of the owner.
func (s spread) countsNode(labels map[string]string, taints []corev1.Taint) bool {
	node := &corev1.Node{}
	node.Labels = withOldNames(labels)
	node.Name = labels[corev1.LabelHostname]
	for _, o := range spreads(s.owner) {
		if _, ok := node.Labels[o.TopologyKey]; !ok && o.TopologyKey != corev1.LabelHostname {
			return false
		}
	}
	if s.honorsAffinity() && !matchesNode(s.owner, node) {
		return false
	}
	return s.NodeTaintsPolicy == nil || *s.NodeTaintsPolicy != corev1.NodeInclusionPolicyHonor || tolerates(s.owner, taints)
}

// alwaysCountsNode reports whether the pods of a node count in every case.
func (s spread) alwaysCountsNode(at *plannedNode) bool {
	return !slices.ContainsFunc(at.options, func(labels map[string]string) bool { return !s.countsNode(labels, at.taints) })
}

// shared reports whether another pod has the same constraint over the same nodes.
func (s spread) shared(pod *corev1.Pod) bool {
	return slices.ContainsFunc(spreads(pod), func(o spread) bool {
		return reflect.DeepEqual(*s.TopologySpreadConstraint, *o.TopologySpreadConstraint) && maps.Equal(s.owner.Spec.NodeSelector, pod.Spec.NodeSelector) &&
			reflect.DeepEqual(s.owner.Spec.Affinity, pod.Spec.Affinity) && reflect.DeepEqual(s.owner.Spec.Tolerations, pod.Spec.Tolerations)
	})
}

// spreads checks DoNotSchedule spread: the domain of a placed pod does not exceed the emptiest one by more than maxSkew. The result shows
// that as long as every placed pod that counts has the constraint too, and no pod of a DaemonSet counts: how many of these run in a domain is
// known only once they are there, and kube-scheduler itself judges such plans in test/oracle.
func (j *judge) spreads() {
	for _, at := range j.sites {
		seen := map[string]bool{}
		for _, pod := range at.arrivals {
			if text := pod.Spec.String() + pod.Namespace; !seen[text] {
				seen[text] = true
				for _, s := range spreads(pod) {
					j.spread(s, at)
				}
			}
		}
	}
}

func (j *judge) spread(s spread, at *plannedNode) {
	if !at.always(s.TopologyKey) {
		j.fail("pod %s on %s: the node may have no label %s, over which the pod is spread", s.owner.Name, at.name, s.TopologyKey)
		return
	}
	if !s.selective() || j.countsDaemons(s) {
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
			case sure && s.alwaysCountsNode(other):
				count[domain]++
			}
		}
	}
	if others {
		return
	}
	if !decided {
		j.fail("pod %s on %s is spread over %s, and the value of the node is not decided", s.owner.Name, at.name, s.TopologyKey)
		return
	}
	if low := j.minCount(s, at, count); count[value]-low > int(s.MaxSkew) {
		j.fail("pod %s on %s: %d pods in %s %s, %d in another, maxSkew %d", s.owner.Name, at.name, count[value], s.TopologyKey, value, low, s.MaxSkew)
	}
}

// minCount is the count of the emptiest domain.
func (j *judge) minCount(s spread, at *plannedNode, count map[string]int) int {
	least := math.MaxInt
	if s.TopologyKey == corev1.LabelHostname {
		hosts := 0 // nodes are hosts even before they have the label
		for _, other := range j.sites {
			if node, claim := j.find(other.name, ""); node != nil && deleting(node, claim) {
				continue
			}
			if domain, sure := other.decided(s.TopologyKey); sure && s.countsNode(other.options[0], other.taints) {
				least, hosts = min(least, count[domain]), hosts+1
			}
		}
		if s.MinDomains != nil && hosts < int(*s.MinDomains) {
			return 0
		}
		return least
	}
	if s.MinDomains != nil && len(j.allDomains(s.TopologyKey)) < int(*s.MinDomains) {
		return 0
	}
	for domain := range j.reachableDomains(s, at) {
		least = min(least, count[domain])
	}
	return least
}

// reachableDomains are the domains that count for the spread: those of nodes that do, of candidates of pools that open
// nodes, and that of the site.
func (j *judge) reachableDomains(s spread, at *plannedNode) map[string]bool {
	out, known := map[string]bool{}, j.domains(s.TopologyKey, func(n *corev1.Node) bool { return n.DeletionTimestamp == nil })
	for _, value := range at.values(s.TopologyKey) {
		out[value] = true
	}
	take := func(labels map[string]string, taints []corev1.Taint) {
		if value, ok := labels[s.TopologyKey]; ok && known[value] && s.countsNode(labels, taints) {
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
		if !j.opened(pool) {
			continue
		}
		combinations := j.customLabels(s.owner, pool)
		for _, t := range types {
			for _, m := range j.candidatesOf(t, pool, combinations) {
				take(m.Node.Labels, m.Node.Spec.Taints)
			}
		}
	}
	return out
}

// opened reports whether a node of the pool starts, or some pod that needs a node tolerates the taints of the pool. Pods that were not
// considered, such as those whose claim is missing, need none yet.
func (j *judge) opened(pool *v1.NodePool) bool {
	for _, o := range j.Objects {
		if claim, ok := o.(*v1.NodeClaim); ok && claim.Labels[v1.NodePoolLabelKey] == pool.Name && !j.hasNode(claim) {
			return true
		}
	}
	opens := func(pod *corev1.Pod) bool { return tolerates(pod, pool.Spec.Template.Spec.Taints) }
	for _, pod := range j.pods {
		if pod.Spec.NodeName == "" && !slices.Contains(j.Ignored, pod.UID) && opens(pod) {
			return true
		}
	}
	return slices.ContainsFunc(j.sites, func(at *plannedNode) bool { return slices.ContainsFunc(at.arrivals, opens) })
}

// allDomains are all values of the key that nodes have or pools name.
func (j *judge) allDomains(key string) map[string]bool {
	return j.domains(key, func(*corev1.Node) bool { return true })
}

// domains are all values of the key that pools name, or nodes for which of reports true have.
func (j *judge) domains(key string, of func(*corev1.Node) bool) map[string]bool {
	out := maps.Clone(j.poolDomains(key))
	for _, o := range j.Objects {
		if node, ok := o.(*corev1.Node); ok && of(node) {
			if value, ok := withOldNames(node.Labels)[key]; ok {
				out[value] = true
			}
		}
	}
	return out
}

// poolDomains are all values of the key that pools with instance types name and allow.
func (j *judge) poolDomains(key string) map[string]bool {
	if known, ok := j.cache.named[key]; ok {
		return known
	}
	out := map[string]bool{}
	j.cache.named[key] = out
	for name, types := range j.Types {
		pool := j.pools[name]
		listed := slices.Clone(pool.Spec.Template.Spec.Requirements)
		own, labelled := pool.Spec.Template.Labels[key]
		if labelled {
			listed = append(listed, cloud.In(key, own))
		}
		some := false
		for _, t := range types {
			if len(j.candidatesOf(t, pool, j.customLabels(&corev1.Pod{}, pool))) > 0 {
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
