package solve

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

func TestEffectiveZones(t *testing.T) {
	t.Attr("covers", "L403")
	in := func(zones ...string) requirement.Set {
		return requirement.NewSet(requirement.New(zoneKey, requirement.In, zones...))
	}
	for _, c := range []struct {
		name  string
		shape func(*model.Shape)
		want  string
	}{
		{"nothing said", func(*model.Shape) {}, ZoneFlexible},
		{"one zone", func(s *model.Shape) { s.Selector = in("zone-a") }, "zone-a"},
		{"two zones", func(s *model.Shape) { s.Selector = in("zone-a", "zone-b") }, ZoneFlexible},
		{"a contradiction", func(s *model.Shape) {
			s.Selector = in("zone-a")
			s.Required = []requirement.Set{in("zone-b")}
		}, ZoneNone},
		{"a preference does not count", func(s *model.Shape) {
			s.Preferred = []model.Preference{{Weight: 1, Terms: in("zone-a")}}
		}, ZoneFlexible},
		{"volumes in one zone", func(s *model.Shape) { s.VolumeTopology = []requirement.Set{in("zone-b")} }, "zone-b"},
		{"a volume that may be anywhere", func(s *model.Shape) { s.VolumeTopology = []requirement.Set{in("zone-b"), nil} }, ZoneFlexible},
		{"volume and pod disagree", func(s *model.Shape) {
			s.Selector = in("zone-a")
			s.VolumeTopology = []requirement.Set{in("zone-b")}
		}, ZoneNone},
		{"affinity to a pod in a zone", func(s *model.Shape) { s.Affinities = []topology.Affinity{near(zoneKey, "there")} }, "zone-a"},
		{"anti-affinity to it", func(s *model.Shape) {
			s.Selector = in("zone-a", "zone-b")
			s.Affinities = []topology.Affinity{far(zoneKey, "there")}
		}, "zone-b"},
		{"affinity to no pod", func(s *model.Shape) { s.Affinities = []topology.Affinity{near(zoneKey, "absent")} }, ZoneNone},
		{"a spread that leaves two", func(s *model.Shape) { s.Spreads = []topology.Spread{spreadOver(zoneKey, 1, "there")} }, ZoneFlexible},
		{"a spread that leaves one", func(s *model.Shape) {
			s.Selector = in("zone-a", "zone-b")
			s.Spreads = []topology.Spread{spreadOver(zoneKey, 1, "there")}
		}, "zone-b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := shape(100, gi)
			c.shape(s)
			there := shape(100, gi)
			n := &model.Node{ID: "n", Name: "n", NodeName: "n", Launched: true, Requirements: requirement.Labels(map[string]string{zoneKey: "zone-a"})}
			n.Pods = labelled(pods(1, there), "there")
			pr := problem(labelled(pods(2, s), "there"), pool("default", instanceType("m", 16, 64, 1)))
			pr.Nodes = []*model.Node{n}
			if diff := cmp.Diff([]ZoneCount{{Zone: c.want, Pods: 2}}, Solve(pr).Zones); diff != "" {
				t.Error(diff)
			}
		})
	}
}
