package disrupt

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// TestGroupsThatAreDisruptedAsAWhole: consolidation, and drift of static pools, take none of several nodes with pods of such a group. A node
// with all of its pods is a candidate like any other, and so are those of groups whose pods are disrupted one by one.
func TestGroupsThatAreDisruptedAsAWhole(t *testing.T) {
	t.Attr("covers", "N471")
	holding := func(groups ...string) func(*model.Node) {
		return func(n *model.Node) {
			n.Disruption.Drifted = true
			n.Labels = map[string]string{capacityTypeKey: "on-demand", zoneKey: "a"}
			for _, group := range groups {
				n.Pods = append(n.Pods, &model.Pod{Name: group, Reschedulable: true, EvictionCost: 1, Membership: &model.Membership{Group: group}})
			}
		}
	}
	in := qualifyInput(
		node("one", holding("ml/spread")), node("two", holding("ml/spread", "ml/single")), node("whole", holding("ml/whole", "ml/whole")),
		node("single", holding("ml/single")),
	)
	var e model.Editor[*model.PodGroup]
	e.Put("ml/spread", &model.PodGroup{Namespace: "ml", Name: "spread", DisruptedTogether: true})
	e.Put("ml/whole", &model.PodGroup{Namespace: "ml", Name: "whole", DisruptedTogether: true})
	e.Put("ml/single", &model.PodGroup{Namespace: "ml", Name: "single"})
	groups := e.Publish()
	in.Snapshot.PodGroups = &groups
	candidates, _ := Qualify(in)
	for i := range candidates {
		candidates[i].TypeKnown = true
	}
	got := map[string]Code{}
	for _, c := range candidates {
		got[c.Node.Name] = filterConsolidation(c)
	}
	want := map[string]Code{"one": SplitsPodGroup, "two": SplitsPodGroup, "whole": "", "single": ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("consolidation (-want +got)\n%s", diff)
	}
	if got := staticDrift().Filter(Candidate{Node: candidates[0].Node, Pool: Pool{Static: true}, SplitsGroup: true}); got != SplitsPodGroup {
		t.Errorf("drift of a static pool: %q, want SplitsPodGroup", got)
	}
}
