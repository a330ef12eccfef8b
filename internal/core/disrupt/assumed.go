package disrupt

import (
	"fmt"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

// Problem: simulations build on each other, and a pod that an assumed outcome placed is not placed again. A later simulation may move away
// the pods that it has affinity to, and then it can no longer be bound where it was placed.
// Approach: the nodes of assumed outcomes are remembered with their pods. When a simulation moves a pod that one of these has affinity to,
// kube-scheduler must be able to bind that one nevertheless, once all pods have left their nodes; see arrivals. When it moves a pod whose
// spread counts pods on a node that is not launched yet and may be in several domains, the pod has to wait: what the spread allows depends
// on the domain.
// Cost: nothing unless a placed pod has required affinity to a pod that moves, then one look at the pods of every node; and for each pod
// that moves and has a required spread, one look at the pods of the nodes that assumed outcomes launch.

// assumedOutcomes are the outcomes that later simulations assume.
type assumedOutcomes struct {
	// nodes are those that the outcomes place pods on.
	nodes []plannedNode
	// removed are the IDs of the nodes that the outcomes remove.
	removed map[string]bool
}

// plannedNode is a node with the pods that an outcome places on it.
type plannedNode struct {
	pods []*model.Pod
	// withAffinity are those that have required affinity.
	withAffinity []podWithAffinity
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
	for i := range out {
		for _, pod := range out[i].pods {
			if terms := requiredAffinity(pod); len(terms) > 0 {
				out[i].withAffinity = append(out[i].withAffinity, podWithAffinity{pod, terms})
			}
		}
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

// mayBeIn reports whether the node may be in a domain.
func (n plannedNode) mayBeIn(key, domain string) bool {
	values, known := n.domains(key)
	return known && slices.Contains(values, domain) || !known && n.launches
}

// assume makes later simulations assume that the nodes of set are removed, with the plan for their pods.
func (a *assumedOutcomes) assume(set []Candidate, plan solve.Plan) {
	a.nodes = append(a.nodes, plannedNodes(plan)...)
	if a.removed == nil {
		a.removed = map[string]bool{}
	}
	for _, c := range set {
		a.removed[c.Node.ID] = true
	}
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
	if spread.Selector.Empty() {
		return false
	}
	return slices.ContainsFunc(a.nodes, func(n plannedNode) bool {
		if !n.launches {
			return false // most nodes that take the pods of many commands exist
		}
		domains, known := n.domains(spread.Key)
		return (!known || len(domains) != 1) && slices.ContainsFunc(n.pods, func(other *model.Pod) bool {
			return other.Namespace == spread.Namespace && spread.Selector.Matches(other.Labels.Values)
		})
	})
}

// keepingDaemonsAway are the pods of set whose anti-affinity keeps a DaemonSet away from a domain in which assumed outcomes place pods: they may
// be placed there because no pod of the DaemonSet is.
func (sim *Simulator) keepingDaemonsAway(set []Candidate) []UnplacedPod {
	daemons := sim.input.Problem.DaemonSets
	if len(daemons) == 0 || len(sim.assumed.nodes) == 0 {
		return nil
	}
	var out []UnplacedPod
	for _, c := range set {
		for _, pod := range c.PodsToMove {
			for _, term := range pod.Shape.Affinities {
				domain, ok := c.Node.Labels[term.Key]
				if !ok || !term.Anti || !term.Required() || term.Key == requirement.HostnameLabel ||
					!slices.ContainsFunc(sim.assumed.nodes, func(n plannedNode) bool { return n.mayBeIn(term.Key, domain) }) {
					continue
				}
				terms := []topology.Affinity{term}
				if i := slices.IndexFunc(daemons, func(d *model.DaemonSet) bool { return sim.matchesTerms(terms, d.Labels) }); i >= 0 {
					why := fmt.Sprintf("it keeps DaemonSet %s/%s away from pods that would move to %s %s", daemons[i].Namespace, daemons[i].Name, term.Key, domain)
					out = append(out, UnplacedPod{pod, why})
					break
				}
			}
		}
	}
	return out
}
