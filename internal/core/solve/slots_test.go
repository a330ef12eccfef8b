package solve

import (
	"fmt"
	"slices"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/volume"
)

// withVolumes returns n pods with one volume each.
func withVolumes(n int) []*model.Pod {
	s := shape(100, gi)
	s.Drivers = []string{"csi.test"}
	out := pods(n, s)
	for i, p := range out {
		p.Dependencies = model.NewDependencies([]volume.Attachment{{Driver: "csi.test", Claim: fmt.Sprintf("default/data-%d", i)}}, nil)
	}
	return out
}

func TestANewNodeTakesAsManyVolumesAsItsTypeAttaches(t *testing.T) {
	m := instanceType("m", 16, 64, 1)
	m.Attachable = volume.Limits{"csi.test": 3}
	plan := Solve(problem(withVolumes(7), pool("default", m)))
	if got := perNodeClaim(plan); !slices.Equal(got, []int{1, 3, 3}) {
		t.Errorf("pods per node %v, want at most three volumes each", got)
	}
}

func TestALargerTypeMayAttachMore(t *testing.T) {
	small, large := instanceType("small", 16, 64, 1), instanceType("large", 32, 128, 2)
	small.Attachable, large.Attachable = volume.Limits{"csi.test": 2}, volume.Limits{"csi.test": 8}
	plan := Solve(problem(withVolumes(5), pool("default", small, large)))
	if len(plan.NodeClaims) != 1 || !slices.Equal(plan.NodeClaims[0].InstanceTypes, []string{"large"}) {
		t.Errorf("claims %+v, want all five on the type that has the slots", plan.NodeClaims)
	}
}

func TestARequestedNodeIsExpectedToAttachWhatItsTypeDoes(t *testing.T) {
	m := instanceType("m", 16, 64, 1)
	m.Attachable = volume.Limits{"csi.test": 3}
	pr := problem(withVolumes(4), pool("default", m))
	labels := map[string]string{instanceTypeKey: "m", "karpenter.sh/nodepool": "default"}
	pr.Nodes = []*model.Node{{
		ID: "n", Name: "n", Pool: "default", Managed: true, Launched: true, Labels: labels, Requirements: requirement.Labels(labels),
		Allocatable: resource.Vector{16000, 64 * gi, 110},
	}}
	plan := Solve(pr)
	if len(plan.Placements) != 1 || len(plan.Placements[0].Pods) != 3 || len(plan.NodeClaims) != 1 {
		t.Errorf("placements %+v and %d claims, want three pods there and one on a new node", plan.Placements, len(plan.NodeClaims))
	}
}
