package unschedulable

import (
	"fmt"
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
