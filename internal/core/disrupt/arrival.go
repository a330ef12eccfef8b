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
// Cost: only for pods that have affinity to a pod that moves, one look at the pods of the nodes in their domains; if it finds none, the same
// for the other pods that have affinity, once for each link of a chain.
type arrivals struct {
	sim   *Simulator
	nodes []plannedNode
	// bound are the pods that can be bound, by the index of the node.
	bound [][]*model.Pod
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
	}
	for _, c := range set {
		all.removed[c.Node.ID] = true
	}
	var concerned, others []arrival
	for i, at := range all.nodes {
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
	a.bound = make([][]*model.Pod, len(a.nodes))
	for i, n := range a.nodes {
		a.bound[i] = slices.DeleteFunc(slices.Clone(n.pods), hasRequiredAffinity)
	}
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
	a.put((*waiting)[i])
	*waiting = slices.Delete(*waiting, i, i+1)
	return true
}

// put binds a pod.
func (a *arrivals) put(next arrival) { a.bound[next.at] = append(a.bound[next.at], next.pod) }

// bindNext binds a pod if its affinity is met.
func (a *arrivals) bindNext(next arrival) bool {
	for _, term := range next.terms {
		if !a.meets(next, term.Key) {
			return false
		}
	}
	a.put(next)
	return true
}

// isFirst reports whether a pod may be bound because it matches its own affinity and no other pod does.
func (a *arrivals) isFirst(next arrival) bool {
	matches := func(pods []*model.Pod) bool { return a.sim.matchesAffinity(next.podWithAffinity, pods) }
	return a.sim.matchesTerms(next.terms, next.pod) && !slices.ContainsFunc(a.bound, matches) && !slices.ContainsFunc(a.sim.input.Problem.Nodes, func(n *model.Node) bool {
		pods := n.Pods
		if a.leaves(n) { // pods that cannot be evicted run on for a while
			pods = slices.DeleteFunc(slices.Clone(pods), func(pod *model.Pod) bool { return !a.sim.input.Unevictable[pod.UID] })
		}
		return matches(pods)
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
		a.staying[at] = slices.ContainsFunc(a.sim.input.Problem.Nodes, func(n *model.Node) bool {
			return n.Labels[key] == domain && !a.leaves(n) && a.sim.matchesAffinity(next.podWithAffinity, n.Pods)
		})
	}
	if a.staying[at] {
		return true
	}
	for i, n := range a.nodes {
		if n.isIn(key, domain) && a.sim.matchesAffinity(next.podWithAffinity, a.bound[i]) {
			return true
		}
	}
	return false
}

// unmet says what pods wait for.
func (a *arrivals) unmet(waiting []arrival) []UnplacedPod {
	for i, n := range a.nodes {
		a.bound[i] = n.pods
	}
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

// matchesAffinity reports whether another pod matches all terms of a pod: kube-scheduler looks for one that does.
func (sim *Simulator) matchesAffinity(p podWithAffinity, others []*model.Pod) bool {
	return slices.ContainsFunc(others, func(other *model.Pod) bool { return other.UID != p.pod.UID && sim.matchesTerms(p.terms, other) })
}

func (sim *Simulator) matchesTerms(terms []topology.Affinity, pod *model.Pod) bool {
	return !slices.ContainsFunc(terms, func(a topology.Affinity) bool {
		return !a.Selector.Matches(pod.Labels.Values) || !slices.Contains(a.Namespaces, pod.Namespace) &&
			(a.NamespaceSelector == nil || !a.NamespaceSelector.Matches(sim.input.Problem.Namespaces[pod.Namespace]))
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
