package solve

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// TestAVolumeOfAPlannedPodIsShared plans a pod beside one with the same volume that an earlier pass put on a NodeClaim: the volume will be
// created in the zone of that NodeClaim.
func TestAVolumeOfAPlannedPodIsShared(t *testing.T) {
	for _, test := range []struct {
		name  string
		zones []string
		// want is the zone of the pod's node; empty if it has to wait.
		want string
	}{
		{"in the zone of the NodeClaim", []string{"zone-b"}, "zone-b"},
		{"not before the zone of the NodeClaim is decided", []string{"zone-a", "zone-b"}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := fleet(1, 0, false, rand.New(rand.NewPCG(1, 2))) //nolint:gosec // a test
			both := pods(2, shape(7000, 1<<30))
			for _, pod := range both {
				pod.Dependencies = &model.Dependencies{LateVolumes: []string{"default/data"}}
			}
			claim := *p.Nodes[0]
			claim.NodeName, claim.Launched, claim.Initialized = "", false, false
			claim.Requirements = slices.DeleteFunc(slices.Clone(claim.Requirements), func(r requirement.Requirement) bool { return r.Key == zoneKey })
			claim.Requirements = claim.Requirements.Add(requirement.New(zoneKey, requirement.In, test.zones...))
			claim.Pods, claim.Used = both[:1], both[0].Shape.Requests
			p.Nodes, p.Pods = []*model.Node{&claim}, both[1:]
			got := ""
			plan := Solve(p)
			for _, c := range plan.NodeClaims {
				got += c.Requirements.Get(zoneKey).String()
			}
			want := ""
			if test.want != "" {
				want = requirement.New(zoneKey, requirement.In, test.want).String()
			}
			if got != want || len(plan.Placements) > 0 {
				t.Errorf("the pod goes to a node with %q, want %q; refused: %v", got, want, plan.Unschedulable)
			}
		})
	}
}
