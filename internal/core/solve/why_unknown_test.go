package solve

import (
	"strings"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

// TestNamesThatNothingHasAreSaidToBeUnknown checks that topology keys and resources which nothing has are named, with one that may be meant.
func TestNamesThatNothingHasAreSaidToBeUnknown(t *testing.T) {
	over := func(key string) *model.Shape {
		s := shape(1_000, gi)
		s.Spreads = []topology.Spread{spreadOver(key, 1, "web")}
		return s
	}
	beside := func(key, app string) *model.Shape {
		s := shape(1_000, gi)
		s.Affinities = []topology.Affinity{near(key, app)}
		return s
	}
	requesting := func(name string) *model.Shape {
		s := shape(1_000, gi)
		s.Requests = s.Requests.Set(resource.Unoffered, 1)
		s.Unoffered = []resource.Request{{Name: name, Amount: 1}}
		return s
	}
	const correctKey = "Correct the topologyKey of the constraint, or list values of the label in the requirements of a NodePool."
	const correctName = "Correct the name of the resource, or add it to the capacity of instance types with a NodeOverlay."
	for _, c := range []struct {
		pod            *model.Shape
		detail, remedy string
	}{
		{over("rack"), "no node has the label rack, and no NodePool or instance type has values for it", correctKey},
		{beside("rack", "other"), "no pod matches the affinity, neither on a node nor pending; no node has the label rack", correctKey},
		{beside("rack", "web"), "no node has the label rack, and no NodePool or instance type has values for it", correctKey},
		{
			over("topology.kubernetes.io/zones"),
			`no node has the label topology.kubernetes.io/zones, and no NodePool or instance type has values for it (typo of "topology.kubernetes.io/zone"?)`, correctKey,
		},
		{requesting("nvidia.com/gpus"), `nvidia.com/gpus: 1 requested, and no node or instance type offers the resource (typo of "nvidia.com/gpu"?)`, correctName},
		{requesting("example.com/fuse"), "example.com/fuse: 1 requested, and no node or instance type offers the resource", correctName},
	} {
		table := resource.NewTable()
		in := problem(labelled(pods(1, c.pod), "web"), pool("default", instanceType("small", 4, 16, 0.10)))
		in.Resources = append(table.Names(), "nvidia.com/gpu")
		plan := Solve(in)
		if len(plan.Unschedulable) != 1 {
			t.Errorf("%q: the pod is not refused", c.detail)
			continue
		}
		why := plan.Unschedulable[0].Reasons[0]
		if got := why.Detail(); !strings.HasPrefix(got, c.detail) || why.Remedy() != c.remedy {
			t.Errorf("%q, %q; want %q, %q", got, why.Remedy(), c.detail, c.remedy)
		}
	}
}
