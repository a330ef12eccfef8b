package solve

import (
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/unschedulable"
	"github.com/karpenter-anew/karpenter/internal/core/volume"
)

// featured is a shape that needs the feature "F" and the CSI driver "csi.example.com".
func featured() *model.Shape {
	s := shape(100, gi)
	s.NodeFeatures, s.InstalledDrivers = []string{"F"}, []string{"csi.example.com"}
	return s
}

func TestPodsGoWhereTheirFeaturesAre(t *testing.T) {
	t.Attr("covers", "N421 N426")
	installed := volume.Limits{"csi.example.com": 9}
	size := resource.Vector{}.Set(resource.CPU, 4000).Set(resource.Memory, 16*gi).Set(resource.Pods, 110)
	for _, tc := range []struct {
		name      string
		node      model.Node
		features  []string // of new nodes
		lacked    []string
		gateIsOff bool
		want      string // the node, "new", or a code
	}{
		{name: "node has both", node: model.Node{NodeFeatures: []string{"E", "F"}, Attachable: installed}, want: "node"},
		{name: "node lacks the feature", node: model.Node{NodeFeatures: []string{"E"}, Attachable: installed}, features: []string{"F"}, want: "new"},
		{name: "nothing has the feature", node: model.Node{Attachable: installed}, want: "FeatureMissing"},
		{name: "features are not required", node: model.Node{Attachable: installed}, gateIsOff: true, want: "node"},
		{name: "node lacks the driver", node: model.Node{NodeFeatures: []string{"F"}}, features: []string{"F"}, want: "new"},
		{name: "no driver at all", node: model.Node{NodeFeatures: []string{"F"}}, features: []string{"F"}, lacked: []string{"csi.example.com"}, want: "DriverMissing"},
		{name: "node has not reported", node: model.Node{FeaturesExpected: true, DriversExpected: true}, features: []string{"F"}, want: "node"},
		{name: "feature is not expected of it", node: model.Node{FeaturesExpected: true, DriversExpected: true}, want: "FeatureMissing"},
		{name: "driver is not expected of it", node: model.Node{NodeFeatures: []string{"F"}, DriversExpected: true}, features: []string{"F"}, lacked: []string{"csi.example.com"}, want: "DriverMissing"},
	} {
		n := tc.node
		n.ID, n.Name, n.Pool, n.Launched, n.Initialized, n.Allocatable, n.Capacity = "node", "node", "pool", true, true, size, size
		p := pool("pool", instanceType("large", 4, 16, 1))
		p.NodeFeatures, p.LackedDrivers = tc.features, tc.lacked
		problem := Problem{Pods: pods(1, featured()), Nodes: []*model.Node{&n}, Pools: []*model.Pool{p}}
		problem.Options = Options{WellKnown: wellKnown, DeclaredFeatures: !tc.gateIsOff}
		plan := Solve(problem)
		got := ""
		switch {
		case len(plan.NodeClaims) > 0:
			got = "new"
		case len(plan.Unschedulable) > 0:
			got = string(plan.Unschedulable[0].Reasons[0].Code)
			if pool := plan.Unschedulable[0].Reasons[0].Pool; pool != "pool" {
				t.Errorf("%s: the reason names pool %q", tc.name, pool)
			}
		default:
			got = "node"
		}
		if got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

// TestDaemonSetsWithoutTheirFeaturesTakeNoCapacity holds that kube-scheduler leaves such pods pending.
func TestDaemonSetsWithoutTheirFeaturesTakeNoCapacity(t *testing.T) {
	t.Attr("covers", "N421")
	daemon := shape(3500, gi)
	daemon.NodeFeatures = []string{"F"}
	p := pool("pool", instanceType("large", 4, 16, 1))
	problem := Problem{Pods: pods(1, shape(3000, gi)), Pools: []*model.Pool{p}, DaemonSets: []*model.DaemonSet{{Name: "d", UID: "d", Shape: daemon}}}
	problem.Options = Options{WellKnown: wellKnown, DeclaredFeatures: true}
	if plan := Solve(problem); len(plan.NodeClaims) != 1 {
		t.Errorf("the pod got no node: %v", plan.Unschedulable)
	}
	p.NodeFeatures = []string{"F"}
	if plan := Solve(problem); len(plan.Unschedulable) != 1 || plan.Unschedulable[0].Reasons[0].Code != unschedulable.DaemonsTakeRoom {
		t.Errorf("the DaemonSet takes no capacity: %+v", plan)
	}
}
