package disrupt

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

// Problem: simulations build on each other, and a pod that an earlier one placed is not placed again. It may have been placed beside
// a pod that a later simulation moves away, and then fits there no longer when it is evicted.
// Approach: the places of kept outcomes are remembered. When a simulation moves a pod that a placed pod has affinity to, the placed pod
// must still have such a pod in its domain.
// Cost: nothing unless a placed pod has required affinity to a pod that moves; then one look at the pods of every node.

// place is where an outcome puts pods.
type place struct {
	pods []*model.Pod
	// domain is the value of a topology key; empty when it is not known.
	domain func(key string) string
}

// places are those of the moved and pending pods of an outcome.
func places(plan solve.Plan) []place {
	var out []place
	for _, at := range plan.Placements {
		out = append(out, place{at.Pods, func(key string) string { return at.Node.Labels[key] }})
	}
	for _, claim := range plan.NodeClaims {
		out = append(out, place{claim.Pods, func(key string) string {
			if values := claim.Requirements.Get(key).Values(); len(values) == 1 && claim.Requirements.Get(key).Has(values[0]) {
				return values[0]
			}
			return ""
		}})
	}
	return out
}

// separated are the pods with a place that would lose the pods that they have affinity to if the pods of set move as in the plan.
func (sim *Simulator) separated(set []Candidate, plan solve.Plan) []UnplacedPod {
	var out []UnplacedPod
	for _, at := range sim.attached {
		for _, pod := range at.pods {
			terms := requiredAffinity(pod)
			if !slices.ContainsFunc(set, func(c Candidate) bool {
				return slices.ContainsFunc(c.PodsToMove, func(other *model.Pod) bool { return sim.hasPartner(pod, terms, []*model.Pod{other}) })
			}) {
				continue
			}
			for _, term := range terms {
				if domain := at.domain(term.Key); domain != "" && !sim.partnerIn(term.Key, domain, pod, terms, set, places(plan)) {
					out = append(out, UnplacedPod{pod, "the pods that it has affinity to would move to another " + term.Key})
					break
				}
			}
		}
	}
	return out
}

// partnerIn reports whether a domain has a pod that a pod has affinity to, with the outcomes that are kept and without the nodes of set.
func (sim *Simulator) partnerIn(key, domain string, pod *model.Pod, terms []topology.Affinity, set []Candidate, moved []place) bool {
	for _, at := range slices.Concat(sim.kept, moved) {
		if at.domain(key) == domain && sim.hasPartner(pod, terms, at.pods) {
			return true
		}
	}
	return slices.ContainsFunc(sim.input.Problem.Nodes, func(n *model.Node) bool {
		return n.Labels[key] == domain && !sim.gone[n.ID] && !slices.ContainsFunc(set, func(c Candidate) bool { return c.Node.ID == n.ID }) &&
			sim.hasPartner(pod, terms, n.Pods)
	})
}

// hasPartner reports whether one of the pods matches all terms of another pod, as kube-scheduler counts them.
func (sim *Simulator) hasPartner(pod *model.Pod, terms []topology.Affinity, others []*model.Pod) bool {
	return slices.ContainsFunc(others, func(other *model.Pod) bool {
		return other.UID != pod.UID && !slices.ContainsFunc(terms, func(a topology.Affinity) bool {
			return !a.Selector.Matches(other.Labels.Values) || !slices.Contains(a.Namespaces, other.Namespace) &&
				(a.NamespaceSelector == nil || !a.NamespaceSelector.Matches(sim.input.Problem.Namespaces[other.Namespace]))
		})
	})
}

// keepPlaces remembers the places of an outcome.
func (sim *Simulator) keepPlaces(set []Candidate, plan solve.Plan) {
	for _, at := range places(plan) {
		sim.kept = append(sim.kept, at)
		at.pods = slices.DeleteFunc(slices.Clone(at.pods), func(pod *model.Pod) bool {
			return !slices.ContainsFunc(pod.Shape.Affinities, isRequiredAffinity)
		})
		if len(at.pods) > 0 {
			sim.attached = append(sim.attached, at)
		}
	}
	for _, c := range set {
		sim.gone[c.Node.ID] = true
	}
}

// requiredAffinity are the required terms of pod affinity.
func requiredAffinity(pod *model.Pod) []topology.Affinity {
	return slices.DeleteFunc(slices.Clone(pod.Shape.Affinities), func(a topology.Affinity) bool { return !isRequiredAffinity(a) })
}

func isRequiredAffinity(a topology.Affinity) bool { return !a.Anti && a.Required() }
