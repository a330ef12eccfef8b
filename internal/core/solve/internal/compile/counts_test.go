package compile

import (
	"slices"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

// TestCountsOfTrialsAreReverted: counts on bins of a trial are visible until the trials end, and only on their hosts.
func TestCountsOfTrialsAreReverted(t *testing.T) {
	web := topology.NewSelector(requirement.NewSet(requirement.New("app", requirement.In, "web")))
	shape := &model.Shape{Requests: resource.Vector{100}, Affinities: []topology.Affinity{{Key: HostnameKey, Anti: true, Selector: web, Namespaces: []string{"a"}}}}
	labels := &model.Labels{Namespace: "a", Values: map[string]string{"app": "web"}}
	pod := &model.Pod{UID: "pod", Shape: shape, Labels: labels}
	nodes := []*model.Node{{ID: "node", Name: "node", NodeName: "node", Pods: []*model.Pod{{UID: "there", Shape: shape, Labels: labels}}}}
	r := NewRun(Problem{Pods: []*model.Pod{pod}, Nodes: nodes})
	r.Seed()
	c := r.Classes.Of(pod)
	g := c.Levels[0].Hosts[0]
	before := slices.Clone(g.Counted())
	for host := range 3 {
		on := &OpenNode{Trial: true}
		r.Counts.Add(Bin{Host: 1 + host, Open: on}, c, 1)
		if c.HostCapacity(c.Levels[0], 1+host) != 0 {
			t.Errorf("host %d takes another pod during the trial", 1+host)
		}
	}
	r.Counts.EndTrials(1)
	if got := g.Counted(); !slices.Equal(got, before) {
		t.Errorf("hosts %v have pods after the trials, want %v", got, before)
	}
	if c.HostCapacity(c.Levels[0], 0) != 0 || c.HostCapacity(c.Levels[0], 1) == 0 {
		t.Error("want the pod that runs to be counted, and none of the trials")
	}
}
