package disrupt

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

// Problem: simulations build on each other, and a pod that an assumed outcome placed is not placed again. A later simulation may move away
// the pods that it has affinity to, and then it can no longer be bound where it was placed.
// Approach: the nodes of assumed outcomes are remembered with their pods. When a simulation moves a pod that one of these has affinity to,
// such a pod must be left in every domain in which that node may be. When it moves a pod whose spread counts pods on a node that is not
// launched yet and may be in several domains, the pod has to wait: what the spread allows depends on the domain.
// Cost: nothing unless a placed pod has required affinity to a pod that moves, then one look at the pods of every node; and for each pod
// that moves and has a required spread, one look at the pods of the nodes that assumed outcomes launch.

// assumedOutcomes are the outcomes that later simulations assume.
type assumedOutcomes struct {
	// nodes are those that the outcomes place pods on, withAffinity the ones among them with pods that have required affinity.
	nodes, withAffinity []plannedNode
	// removed are the IDs of the nodes that the outcomes remove.
	removed map[string]bool
}

// plannedNode is a node with the pods that an outcome places on it.
type plannedNode struct {
	pods []*model.Pod
	// withAffinity are the pods of an assumed outcome that have required affinity.
	withAffinity []*model.Pod
	// launches is set for a node that is not launched yet, requirements are those of its NodeClaim.
	launches     bool
	requirements requirement.Set
	// labels are those of an existing node.
	labels map[string]string
}

// plannedNodes are the nodes on which a plan places pods.
func plannedNodes(plan solve.Plan) []plannedNode {
	var out []plannedNode
	for _, at := range plan.Placements {
		out = append(out, plannedNode{pods: at.Pods, labels: at.Node.Labels})
	}
	for _, claim := range plan.NodeClaims {
		out = append(out, plannedNode{pods: claim.Pods, launches: true, requirements: claim.Requirements})
	}
	return out
}

// domains are the values that a label may have on the node; not known where no requirement lists them.
func (n plannedNode) domains(key string) (values []string, known bool) {
	if !n.launches {
		value, ok := n.labels[key]
		return []string{value}, ok
	}
	r := n.requirements.Get(key)
	if r.Complement() {
		return nil, false
	}
	return r.Values(), true
}

// isIn reports whether the node certainly is in a domain.
func (n plannedNode) isIn(key, domain string) bool {
	values, known := n.domains(key)
	return known && len(values) == 1 && values[0] == domain
}

// assume makes later simulations assume that the nodes of set are removed, with the plan for their pods.
func (a *assumedOutcomes) assume(set []Candidate, plan solve.Plan) {
	for _, n := range plannedNodes(plan) {
		a.nodes = append(a.nodes, n)
		n.withAffinity = slices.DeleteFunc(slices.Clone(n.pods), func(pod *model.Pod) bool {
			return !slices.ContainsFunc(pod.Shape.Affinities, isRequiredAffinity)
		})
		if len(n.withAffinity) > 0 {
			a.withAffinity = append(a.withAffinity, n)
		}
	}
	if a.removed == nil {
		a.removed = map[string]bool{}
	}
	for _, c := range set {
		a.removed[c.Node.ID] = true
	}
}

// withUnmetAffinity are the pods that assumed outcomes have placed and whose required affinity is no longer met there if the pods of set
// move as in the plan.
func (sim *Simulator) withUnmetAffinity(set []Candidate, plan solve.Plan) []UnplacedPod {
	var out []UnplacedPod
	var moved []plannedNode
	for _, at := range sim.assumed.withAffinity {
		for _, pod := range at.withAffinity {
			terms := requiredAffinity(pod)
			if !slices.ContainsFunc(set, func(c Candidate) bool { return sim.matchesAffinity(pod, terms, c.PodsToMove) }) {
				continue
			}
			if moved == nil {
				moved = plannedNodes(plan)
			}
			for _, term := range terms {
				if !sim.meetsAffinity(pod, terms, term.Key, at, set, moved) {
					out = append(out, UnplacedPod{pod, "the pods that it has affinity to would move to another " + term.Key})
					break
				}
			}
		}
	}
	return out
}

// meetsAffinity reports whether a pod on a node of an assumed outcome has a pod that matches its terms in whichever domain the node is in.
func (sim *Simulator) meetsAffinity(pod *model.Pod, terms []topology.Affinity, key string, at plannedNode, set []Candidate, moved []plannedNode) bool {
	domains, known := at.domains(key)
	if !known && !at.launches {
		return true // kube-scheduler does not bind it there, whatever else moves
	}
	return sim.matchesAffinity(pod, terms, at.pods) || known && !slices.ContainsFunc(domains, func(domain string) bool {
		return !sim.hasMatchIn(key, domain, pod, terms, set, moved)
	})
}

// hasMatchIn reports whether a domain has a pod that matches the terms of a pod, with the assumed outcomes and those pods that moved
// are on, and without the nodes of set.
func (sim *Simulator) hasMatchIn(key, domain string, pod *model.Pod, terms []topology.Affinity, set []Candidate, moved []plannedNode) bool {
	for _, n := range slices.Concat(sim.assumed.nodes, moved) {
		if n.isIn(key, domain) && sim.matchesAffinity(pod, terms, n.pods) {
			return true
		}
	}
	return slices.ContainsFunc(sim.input.Problem.Nodes, func(n *model.Node) bool {
		return n.Labels[key] == domain && !sim.assumed.removed[n.ID] && !slices.ContainsFunc(set, func(c Candidate) bool { return c.Node.ID == n.ID }) &&
			sim.matchesAffinity(pod, terms, n.Pods)
	})
}

// matchesAffinity reports whether one of the others matches all terms of a pod: kube-scheduler looks for one that does.
func (sim *Simulator) matchesAffinity(pod *model.Pod, terms []topology.Affinity, others []*model.Pod) bool {
	return slices.ContainsFunc(others, func(other *model.Pod) bool {
		return other.UID != pod.UID && !slices.ContainsFunc(terms, func(a topology.Affinity) bool {
			return !a.Selector.Matches(other.Labels.Values) || !slices.Contains(a.Namespaces, other.Namespace) &&
				(a.NamespaceSelector == nil || !a.NamespaceSelector.Matches(sim.input.Problem.Namespaces[other.Namespace]))
		})
	})
}

// withUndecidedSpread are the pods of set with a required spread that counts pods on a node which an assumed outcome launches, as long as
// the domain of that node is not decided.
func (sim *Simulator) withUndecidedSpread(set []Candidate) []UnplacedPod {
	var out []UnplacedPod
	for _, c := range set {
		for _, pod := range c.PodsToMove {
			for _, spread := range pod.Shape.Spreads {
				if !spread.Soft && spread.Key != requirement.HostnameLabel && sim.assumed.countsUndecided(spread) {
					out = append(out, UnplacedPod{pod, "its spread counts pods on a node that is not launched yet, whose " + spread.Key + " is not known"})
					break
				}
			}
		}
	}
	return out
}

// countsUndecided reports whether a spread counts pods on a node which an assumed outcome launches in a domain that is not decided.
func (a *assumedOutcomes) countsUndecided(spread topology.Spread) bool {
	return slices.ContainsFunc(a.nodes, func(n plannedNode) bool {
		domains, known := n.domains(spread.Key)
		return !spread.Selector.Empty() && n.launches && (!known || len(domains) != 1) && slices.ContainsFunc(n.pods, func(other *model.Pod) bool {
			return other.Namespace == spread.Namespace && spread.Selector.Matches(other.Labels.Values)
		})
	})
}

// requiredAffinity are the required terms of pod affinity.
func requiredAffinity(pod *model.Pod) []topology.Affinity {
	return slices.DeleteFunc(slices.Clone(pod.Shape.Affinities), func(a topology.Affinity) bool { return !isRequiredAffinity(a) })
}

func isRequiredAffinity(a topology.Affinity) bool { return !a.Anti && a.Required() }
