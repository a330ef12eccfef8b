package disrupt

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

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
	want := map[string]Code{"one": splitsPodGroup, "two": splitsPodGroup, "whole": "", "single": ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("consolidation (-want +got)\n%s", diff)
	}
	if got := staticDrift().Filter(Candidate{Node: candidates[0].Node, Pool: Pool{Static: true}, SplitsGroup: true}); got != splitsPodGroup {
		t.Errorf("drift of a static pool: %q, want SplitsPodGroup", got)
	}
}

// TestUnitsAreTheConnectedNodes compares units with a search through all pairs of nodes that share a group, for random groups.
func TestUnitsAreTheConnectedNodes(t *testing.T) {
	t.Attr("covers", "N471")
	rapid.Check(t, func(t *rapid.T) {
		var nodes []*model.Node
		on := rapid.SliceOfN(rapid.SliceOfN(rapid.IntRange(0, 5), 0, 3), 1, 8).Draw(t, "groups of nodes")
		for i, groups := range on {
			nodes = append(nodes, node(fmt.Sprint("n", i), func(n *model.Node) {
				for _, g := range groups {
					n.Pods = append(n.Pods, &model.Pod{Reschedulable: true, Membership: &model.Membership{Group: fmt.Sprint(g)}})
				}
			}))
		}
		var e model.Editor[*model.PodGroup]
		for g := range 5 { // the last group does not exist
			e.Put(fmt.Sprint(g), &model.PodGroup{Name: fmt.Sprint(g), DisruptedTogether: g < 4})
		}
		all, groups := snapshot(nodes...), e.Publish()
		all.PodGroups = &groups
		got := units(all)
		for i, start := range nodes {
			want := map[int]bool{i: true}
			for range nodes {
				for a := range want {
					for b := range nodes {
						if slices.ContainsFunc(on[a], func(g int) bool { return g < 4 && slices.Contains(on[b], g) }) {
							want[b] = true
						}
					}
				}
			}
			u := got[start.ID]
			if (u != nil) != (len(want) > 1) {
				t.Fatalf("node %s is in a unit: %v, and connected to %d nodes", start.ID, u != nil, len(want)-1)
			}
			for b, n := range nodes {
				if u != nil && slices.Contains(u.nodes, n) != want[b] {
					t.Fatalf("the unit of node %s has %s: %v", start.ID, n.ID, !want[b])
				}
			}
		}
	})
}
