package disrupt

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/internal/core/model"
)

func TestUsages(t *testing.T) {
	t.Attr("covers", "C306 C307 C308 C310 C311 N032")
	for _, tt := range []struct {
		name   string
		change func(*model.Node)
		want   Usage
	}{
		{"a healthy node counts", func(*model.Node) {}, Usage{Nodes: 1}},
		{"unmanaged nodes do not count", func(n *model.Node) { n.Managed = false }, Usage{}},
		{"uninitialized nodes do not count", func(n *model.Node) { n.Initialized = false }, Usage{}},
		{"nodes whose instance is terminating do not count", func(n *model.Node) { n.InstanceTerminating, n.Deleting = true, true }, Usage{}},
		{"deleting and marked nodes consume budget", func(n *model.Node) { n.Deleting = true }, Usage{Nodes: 1, Disrupting: 1}},
		{"rebooting nodes count and consume budget", func(n *model.Node) { n.Initialized, n.Rebooting = false, true }, Usage{Nodes: 1, Disrupting: 1}},
		{"nodes that have not initialized again after a reboot do not count", func(n *model.Node) { n.Initialized, n.Rebooting = false, false }, Usage{}},
		{"a rebooting node whose instance is terminating does not count", func(n *model.Node) { n.Rebooting, n.InstanceTerminating = true, true }, Usage{}},
		{"nodes that are not ready consume budget", func(n *model.Node) { n.Ready = false }, Usage{Nodes: 1, Disrupting: 1}},
		{"a node is counted once", func(n *model.Node) { n.Ready, n.Deleting, n.ID = false, true, "pledged" }, Usage{Nodes: 1, Disrupting: 1}},
		{"a node in a waiting command is pledged", func(n *model.Node) { n.ID = "pledged" }, Usage{Nodes: 1, Planned: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Usages(snapshot(node("a", tt.change)), map[string]bool{"pledged": true}, Empty)["default"]
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("usage (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNodesThatAreNotReadyLeaveTheBudgetsOfRepairAlone(t *testing.T) {
	t.Attr("covers", "N032")
	s := snapshot(
		node("not-ready", func(n *model.Node) { n.Ready = false }), node("deleting", func(n *model.Node) { n.Ready, n.Deleting = false, true }),
		node("healthy"),
	)
	for reason, want := range map[Reason]Usage{
		Unhealthy: {Nodes: 3, Disrupting: 1}, Drifted: {Nodes: 3, Disrupting: 2}, Empty: {Nodes: 3, Disrupting: 2}, Underutilized: {Nodes: 3, Disrupting: 2},
	} {
		if got := Usages(s, nil, reason)["default"]; got != want {
			t.Errorf("%s: usage %+v, want %+v", reason, got, want)
		}
	}
}

func TestRemaining(t *testing.T) {
	t.Attr("covers", "C309")
	for _, tt := range []struct {
		name    string
		usage   Usage
		allowed int
		want    int
	}{
		{"disrupting nodes are subtracted", Usage{Nodes: 10, Disrupting: 2}, 5, 3},
		{"nodes of waiting commands are subtracted", Usage{Nodes: 10, Disrupting: 2, Planned: 1}, 5, 2},
		{"the remaining budget is never negative", Usage{Nodes: 10, Disrupting: 7}, 5, 0},
		{"nothing allowed leaves nothing", Usage{Nodes: 10}, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.usage.Remaining(tt.allowed); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

func TestBudgetsOfUnknownPoolsAllowNothing(t *testing.T) {
	b := Budgets{"a": 1}
	if !b.Take("a") || b.Take("a") || b.Take("b") {
		t.Error("want exactly one disruption in pool a and none in pool b")
	}
}
