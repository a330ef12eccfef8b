package unschedulable

import (
	"fmt"
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// Topology is a constraint on where pods may be in relation to others.
type Topology struct {
	// Kind is "topology spread", "pod affinity", "pod anti-affinity", or "shared volume" for a volume that is created in the zone of the first
	// of its pods.
	Kind string
	// Key is the node label whose values are the domains.
	Key string
	// Counts are the numbers of matching pods by domain, sorted by domain.
	Counts []Count
	// PodDomains and NodeDomains are the requirements of the pod and of the pool on the label.
	PodDomains, NodeDomains requirement.Requirement
	// Unmatched is set for an affinity to pods that do not exist, neither on a node nor pending.
	Unmatched bool
	// Undefined is set when neither a node nor a NodePool has a value of the label; Hint is a known label that the user may have meant.
	Undefined bool
	Hint      string
	// MinDomains is minDomains of a spread that has fewer domains; 0 otherwise.
	MinDomains int
	// Unreachable are the domains with the fewest pods of a spread in which no NodePool launches nodes for the pod: they keep the others from
	// taking more.
	Unreachable []UnreachableDomain
}

// Unplaced reports whether an affinity names pods that exist, none of which has a node.
func (t Topology) Unplaced(affinity bool) bool {
	return affinity && !t.Unmatched && !slices.ContainsFunc(t.Counts, func(c Count) bool { return c.Pods > 0 })
}

// UnreachableDomain is a domain in which no NodePool launches nodes for the pod.
type UnreachableDomain struct {
	Domain string
	// Nodes is set when existing nodes are in the domain, Tainted when the pod tolerates the taints of none of them.
	Nodes, Tainted bool
	// Pools are NodePools that launch nodes there whose taints the pod does not tolerate, where it tolerates no existing node: the domain counts
	// for them.
	Pools []string
}

func (d UnreachableDomain) String() string {
	text := "no nodepool launches nodes for the pod in " + d.Domain
	switch {
	case len(d.Pools) > 0:
		return text + ", where others with taints do: " + list(d.Pools, ", ")
	case d.Tainted:
		return text + ", where existing nodes with taints count"
	case d.Nodes:
		return text + ", where existing nodes count"
	}
	return text
}

// Count is the number of matching pods in a domain.
type Count struct {
	Domain string
	Pods   int
}

// maxListedDomains is the number of domains that a message lists.
const maxListedDomains = 25

// String renders the constraint as events and logs show it.
func (t Topology) String() string {
	counts := make([]string, 0, min(len(t.Counts), maxListedDomains))
	for _, c := range t.Counts[:cap(counts)] {
		counts = append(counts, fmt.Sprintf("%s: %d", c.Domain, c.Pods))
	}
	return fmt.Sprintf("%s, key=%s (counts = %s, podDomains = %s, nodeDomains = %s",
		t.Kind, t.Key, strings.Join(counts, ", "), t.PodDomains, t.NodeDomains)
}

// remedy is what helps against domains that no pool reaches.
func (t Topology) remedy() string {
	where := "Let a NodePool whose taints the pod tolerates launch nodes in " + t.Unreachable[0].Domain
	for _, d := range t.Unreachable {
		if len(d.Pools) == 0 && !d.Tainted {
			return where + ", or select other domains by a node selector or required node affinity of the pod."
		}
	}
	return where + ", or set nodeTaintsPolicy: Honor, so that domains of nodes that the pod does not tolerate do not count."
}
