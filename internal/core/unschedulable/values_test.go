package unschedulable

import (
	"strings"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// TestZonesWithoutTheirRegionAreRecognized: a value that ends in what is required comes before one that is nearer by letters.
func TestZonesWithoutTheirRegionAreRecognized(t *testing.T) {
	u, unknown := Unknown(requirement.New(zoneKey, requirement.In, "2"), []string{"0", "eastus-1", "eastus-2", "eastus-3"}, true)
	if !unknown || strings.Join(u.Known, " ") != "eastus-2 0 eastus-1 eastus-3" {
		t.Errorf("known values %q", u.Known)
	}
	want := "Use a value of topology.kubernetes.io/zone that exists, such as eastus-2, or let the node class cover the zone."
	if got := (Reason{Code: NoInstanceType, UnknownValues: []UnknownValue{u}}).Remedy(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestRemedyForPodsOfOneNode: capacity elsewhere does not help a pod that has to be on the node of another one.
func TestRemedyForPodsOfOneNode(t *testing.T) {
	r := Reason{Code: TopologyUnsatisfiable, Topology: Topology{Kind: "pod affinity", Key: "kubernetes.io/hostname", Counts: []Count{{Domain: "node-1", Pods: 1}}}}
	const want = "Free capacity on the nodes of the pods that the affinity names, which no new node has, or use a topologyKey that several nodes share."
	if got := r.Remedy(); got != want {
		t.Error(got)
	}
}

// TestRemedyForDomainsOfTaintedNodes: that they do not count is a remedy only if the pod tolerates none of the nodes.
func TestRemedyForDomainsOfTaintedNodes(t *testing.T) {
	for _, c := range []struct {
		domain UnreachableDomain
		honor  bool
	}{
		{UnreachableDomain{Domain: "zone-b", Nodes: true, Tainted: true}, true},
		{UnreachableDomain{Domain: "zone-b", Nodes: true}, false},
		{UnreachableDomain{Domain: "zone-b", Pools: []string{"gpu"}}, true},
		{UnreachableDomain{Domain: "zone-b"}, false},
	} {
		r := Reason{Code: TopologyUnsatisfiable, Topology: Topology{Kind: "topology spread", Unreachable: []UnreachableDomain{c.domain}}}
		if got := strings.Contains(r.Remedy(), "nodeTaintsPolicy: Honor"); got != c.honor {
			t.Errorf("%+v: %s", c.domain, r.Remedy())
		}
	}
}
