package reason

import (
	"fmt"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// Topology is a constraint on where pods may be in relation to others.
type Topology struct {
	// Kind is "topology spread", "pod affinity" or "pod anti-affinity".
	Kind string
	// Key is the node label whose values are the domains.
	Key string
	// Counts are the pods that count, by domain, in the order of the domains' names.
	Counts []Count
	// PodDomains and NodeDomains are what the pod and the pool have to say about the label.
	PodDomains, NodeDomains requirement.Requirement
}

// Count is how many pods a domain has.
type Count struct {
	Domain string
	Pods   int
}

// shownCounts is how many domains a message lists.
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
