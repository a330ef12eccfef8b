package disrupt

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

// arrivals are the pods that assumed outcomes and one more plan move.
//
// Problem: commands are carried out at the same time, so that all of these pods may have left their nodes before the first one is bound.
// Pods whose affinity only the others of them meet then wait for each other: the one of an earlier command counts on pods that still ran
// where it moves to, and these move there because of it.
// Approach: bind the pods one after the other as kube-scheduler does, beside the pods that stay. Those that are left over wait forever.
// Cost: only for pods that have affinity to a pod that moves, one look at the nodes with pods that they have affinity to; if it finds none in their
// domains, the same for the other pods that have affinity, once for each link of a chain. Pods are found by their labels, which most share with
// others: it takes one look at all pods of the cluster, and one at all different labels for each shape with affinity.
type arrivals struct {
	sim   *Simulator
	nodes []plannedNode
	// bound are the pods that can be bound, by the index of the node, and byLabels the same by their labels.
	bound    [][]*model.Pod
	byLabels map[*model.Labels][]boundPod
	// labels are those of all pods of nodes, matching the part of them that the affinity of a shape selects.
	labels   map[*model.Labels]bool
	matching map[*model.Shape][]*model.Labels
	// removed are the nodes of the plan.
	removed map[string]bool
	staying map[domainOf]bool
}

// domainOf is a domain as pods of a shape see it.
type domainOf struct {
	shape       *model.Shape
	key, domain string
}

// podWithAffinity is a pod with the required terms of its affinity.
type podWithAffinity struct {
	pod   *model.Pod
	terms []topology.Affinity
}

// boundPod is a pod that can be bound to the node with an index.
type boundPod struct {
	pod *model.Pod
	at  int
}

// arrival is a pod with required affinity that moves to the node with an index.
type arrival struct {
	podWithAffinity
	at int
}

// withUnmetAffinity are the pods that assumed outcomes have placed and whose required affinity is no longer met there if the pods of set
// move as in the plan.
func (sim *Simulator) withUnmetAffinity(set []Candidate, plan solve.Plan) []UnplacedPod {
	followsSet := func(p podWithAffinity) bool {
		return slices.ContainsFunc(set, func(c Candidate) bool { return sim.matchesAffinity(p, c.PodsToMove) })
	}
	if !slices.ContainsFunc(sim.assumed.nodes, func(n plannedNode) bool { return slices.ContainsFunc(n.withAffinity, followsSet) }) {
		return nil
	}
	all := &arrivals{
		sim: sim, nodes: slices.Concat(sim.assumed.nodes, plannedNodes(plan)), removed: map[string]bool{}, staying: map[domainOf]bool{},
		labels: map[*model.Labels]bool{}, matching: map[*model.Shape][]*model.Labels{},
	}
	for _, c := range set {
		all.removed[c.Node.ID] = true
	}
	var concerned, others []arrival
	for i, at := range all.nodes {
		for _, pod := range at.pods {
			all.labels[pod.Labels] = true
		}
		for _, p := range at.withAffinity {
			if i < len(sim.assumed.nodes) && followsSet(p) {
				concerned = append(concerned, arrival{p, i})
			} else {
				others = append(others, arrival{p, i})
			}
		}
	}
	return all.unmet(all.bind(concerned, others))
}

// bind binds pods until no more can be bound, or none of the concerned ones is left over. It returns those that are.
func (a *arrivals) bind(concerned, others []arrival) []arrival {
	a.start(func(pod *model.Pod) bool { return !hasRequiredAffinity(pod) })
	for {
		left := len(concerned) + len(others)
		if concerned = slices.DeleteFunc(concerned, a.bindNext); len(concerned) == 0 {
			return nil
		}
		if others = slices.DeleteFunc(others, a.bindNext); len(concerned)+len(others) < left {
			continue
		}
		if !a.bindFirst(&concerned) && !a.bindFirst(&others) {
			return concerned
		}
	}
}

// bindFirst binds one of the waiting pods for which no other has to be there, and reports whether there is any.
func (a *arrivals) bindFirst(waiting *[]arrival) bool {
	i := slices.IndexFunc(*waiting, a.isFirst)
	if i < 0 {
		return false
	}
	a.put((*waiting)[i].pod, (*waiting)[i].at)
	*waiting = slices.Delete(*waiting, i, i+1)
	return true
}

// start binds some of the pods, and no others.
func (a *arrivals) start(binds func(*model.Pod) bool) {
	a.bound, a.byLabels = make([][]*model.Pod, len(a.nodes)), map[*model.Labels][]boundPod{}
	for i, n := range a.nodes {
		for _, pod := range n.pods {
			if binds(pod) {
				a.put(pod, i)
			}
		}
	}
}

// put binds a pod to the node with an index.
func (a *arrivals) put(pod *model.Pod, at int) {
	a.bound[at] = append(a.bound[at], pod)
	a.byLabels[pod.Labels] = append(a.byLabels[pod.Labels], boundPod{pod, at})
}

// hasBound reports whether some other pod that is bound matches the affinity of a pod, on a node that is as asked for.
func (a *arrivals) hasBound(next arrival, on func(plannedNode) bool) bool {
	shape := next.pod.Shape
	if _, known := a.matching[shape]; !known {
		a.matching[shape] = nil
		for l := range a.labels { // the order does not matter
			if a.sim.matchesTerms(next.terms, l) {
				a.matching[shape] = append(a.matching[shape], l)
			}
		}
	}
	return slices.ContainsFunc(a.matching[shape], func(l *model.Labels) bool {
		return slices.ContainsFunc(a.byLabels[l], func(b boundPod) bool { return b.pod.UID != next.pod.UID && on(a.nodes[b.at]) })
	})
}

// bindNext binds a pod if its affinity is met.
func (a *arrivals) bindNext(next arrival) bool {
	for _, term := range next.terms {
		if !a.meets(next, term.Key) {
			return false
		}
	}
	a.put(next.pod, next.at)
	return true
}

// isFirst reports whether a pod may be bound because it matches its own affinity and no other pod does.
func (a *arrivals) isFirst(next arrival) bool {
	anywhere := func(plannedNode) bool { return true }
	return a.sim.matchesTerms(next.terms, next.pod.Labels) && !a.hasBound(next, anywhere) && !slices.ContainsFunc(a.sim.nodesWithMatch(next.podWithAffinity, "", ""), func(n *model.Node) bool {
		leaves := a.leaves(n)
		return slices.ContainsFunc(n.Pods, func(pod *model.Pod) bool { // pods that cannot be evicted run on for a while
			return (!leaves || a.sim.input.Unevictable[pod.UID]) && pod.UID != next.pod.UID && a.sim.matchesTerms(next.terms, pod.Labels)
		})
	})
}

func (a *arrivals) leaves(n *model.Node) bool { return a.removed[n.ID] || a.sim.assumed.removed[n.ID] }

// meets reports whether pods that are bound meet the affinity of a pod in every domain of a label in which its node may be.
func (a *arrivals) meets(next arrival, key string) bool {
	at := a.nodes[next.at]
	domains, known := at.domains(key)
	if !known && !at.launches {
		return true // kube-scheduler does not bind it there, whatever else moves
	}
	return a.sim.matchesAffinity(next.podWithAffinity, a.bound[next.at]) || known && !slices.ContainsFunc(domains, func(domain string) bool {
		return !a.hasMatchIn(key, domain, next)
	})
}

// hasMatchIn reports whether a pod that is bound, or one that stays, meets the affinity of a pod in a domain.
func (a *arrivals) hasMatchIn(key, domain string, next arrival) bool {
	at := domainOf{next.pod.Shape, key, domain}
	if _, known := a.staying[at]; !known {
		a.staying[at] = slices.ContainsFunc(a.sim.nodesWithMatch(next.podWithAffinity, key, domain), func(n *model.Node) bool {
			return !a.leaves(n) && a.sim.matchesAffinity(next.podWithAffinity, n.Pods)
		})
	}
	return a.staying[at] || a.hasBound(next, func(n plannedNode) bool { return n.isIn(key, domain) })
}

// unmet says what pods wait for.
func (a *arrivals) unmet(waiting []arrival) []UnplacedPod {
	a.start(func(*model.Pod) bool { return true })
	out := make([]UnplacedPod, 0, len(waiting))
	for _, w := range waiting {
		why := "the pods that it has affinity to would move at the same time"
		for _, term := range w.terms {
			if !a.meets(w, term.Key) {
				why = "the pods that it has affinity to would move to another " + term.Key
				break
			}
		}
		out = append(out, UnplacedPod{w.pod, why})
	}
	return out
}

// affinityOver is the required affinity of a shape, over a label.
type affinityOver struct {
	shape *model.Shape
	key   string
}

// nodesWithMatch are the nodes in a domain with pods that match all terms of a pod, which may be itself. With no label, they are all such nodes.
func (sim *Simulator) nodesWithMatch(p podWithAffinity, key, domain string) []*model.Node {
	over := affinityOver{p.pod.Shape, key}
	byDomain, known := sim.matching[over]
	if !known {
		byDomain = map[string][]*model.Node{}
		for l, nodes := range sim.nodesByLabels() { // the order does not matter
			if !sim.matchesTerms(p.terms, l) {
				continue
			}
			for _, n := range nodes {
				byDomain[n.Labels[key]] = append(byDomain[n.Labels[key]], n)
			}
		}
		if sim.matching == nil {
			sim.matching = map[affinityOver]map[string][]*model.Node{}
		}
		sim.matching[over] = byDomain
	}
	return byDomain[domain]
}

// nodesByLabels are the nodes with pods that have these labels.
func (sim *Simulator) nodesByLabels() map[*model.Labels][]*model.Node {
	if sim.byLabels == nil {
		sim.byLabels = map[*model.Labels][]*model.Node{}
		for _, n := range sim.input.Problem.Nodes {
			for _, pod := range n.Pods {
				if list := sim.byLabels[pod.Labels]; len(list) == 0 || list[len(list)-1] != n {
					sim.byLabels[pod.Labels] = append(list, n)
				}
			}
		}
	}
	return sim.byLabels
}

// matchesAffinity reports whether another pod matches all terms of a pod: kube-scheduler looks for one that does.
func (sim *Simulator) matchesAffinity(p podWithAffinity, others []*model.Pod) bool {
	return slices.ContainsFunc(others, func(other *model.Pod) bool { return other.UID != p.pod.UID && sim.matchesTerms(p.terms, other.Labels) })
}

func (sim *Simulator) matchesTerms(terms []topology.Affinity, l *model.Labels) bool {
	return l != nil && !slices.ContainsFunc(terms, func(a topology.Affinity) bool {
		return !a.Selector.Matches(l.Values) || !slices.Contains(a.Namespaces, l.Namespace) &&
			(a.NamespaceSelector == nil || !a.NamespaceSelector.Matches(sim.input.Problem.Namespaces[l.Namespace]))
	})
}

// requiredAffinity are the required terms of pod affinity.
func requiredAffinity(pod *model.Pod) []topology.Affinity {
	return slices.DeleteFunc(slices.Clone(pod.Shape.Affinities), func(a topology.Affinity) bool { return !isRequiredAffinity(a) })
}

func hasRequiredAffinity(pod *model.Pod) bool {
	return slices.ContainsFunc(pod.Shape.Affinities, isRequiredAffinity)
}

func isRequiredAffinity(a topology.Affinity) bool { return !a.Anti && a.Required() }
