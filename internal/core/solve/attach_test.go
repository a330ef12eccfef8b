package solve

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
	"github.com/karpenter-anew/karpenter/internal/core/unschedulable"
	"github.com/karpenter-anew/karpenter/internal/core/volume"
)

func podWith(driver string, claims ...string) *model.Pod {
	p := &model.Pod{}
	for _, claim := range claims {
		p.Dependencies = model.NewDependencies(append(p.Attachments(), volume.Attachment{Driver: driver, Claim: claim}), nil)
	}
	return p
}

// TestAttachLimitsOfInstanceTypes: they hold for new nodes, and for existing nodes as long as these do not report the driver.
func TestAttachLimitsOfInstanceTypes(t *testing.T) {
	t.Attr("covers", "N241 N242 N243")
	small, large := instanceType("small", 8, 32, 1), instanceType("large", 8, 32, 3)
	small.Attachable, large.Attachable = volume.Limits{"d": 2}, volume.Limits{"d": 4}
	using := func(n int, driver string, claim func(int) string) []*model.Pod {
		out := pods(n, shape(100, gi/8))
		for i, p := range out {
			s := *p.Shape
			s.Drivers = []string{driver}
			p.Shape = &s
			p.Dependencies = model.NewDependencies([]volume.Attachment{{Driver: driver, Claim: claim(i)}}, nil)
		}
		return out
	}
	single := func(i int) string { return fmt.Sprint("ns/", i) }
	node := func(attachable volume.Limits) *model.Node {
		n := existing("n")
		n.Managed, n.Pool, n.ClaimName, n.Attachable = true, "default", "n", attachable
		n.Labels = map[string]string{instanceTypeKey: "small"}
		return n
	}
	for _, c := range []struct {
		name  string
		pods  []*model.Pod
		node  *model.Node
		want  string
		cause unschedulable.Code
	}{
		{name: "the fleet is launched in one pass", pods: using(8, "d", single), want: "small 2, small 2, small 2, small 2"},
		{name: "a driver that no type lists has no limit", pods: using(8, "other", single), want: "small 8"},
		{name: "a claim that pods share counts once", pods: using(8, "d", func(int) string { return "ns/shared" }), want: "small 8"},
		{name: "the node does not report anything yet", pods: using(2, "d", single), node: node(nil), want: "n 2"},
		{name: "nor the driver", pods: using(3, "d", single), node: node(volume.Limits{"e": 1}), want: "n 2, small 1"},
		{name: "what it reports counts", pods: using(3, "d", single), node: node(volume.Limits{"d": 3}), want: "n 3"},
		{name: "a report without a count is no limit", pods: using(8, "d", single), node: node(volume.Limits{"d": math.MaxInt}), want: "n 8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			pr := problem(c.pods, pool("default", small, large))
			if c.node != nil {
				pr.Nodes = []*model.Node{c.node}
			}
			plan := Solve(pr)
			var got []string
			for _, placed := range plan.Placements {
				got = append(got, fmt.Sprint(placed.Node.ID, " ", len(placed.Pods)))
			}
			for _, claim := range plan.NodeClaims {
				got = append(got, fmt.Sprint(claim.InstanceTypes[0], " ", len(claim.Pods)))
			}
			if text := strings.Join(got, ", "); text != c.want {
				t.Errorf("got %s, want %s", text, c.want)
			}
		})
	}
	t.Run("no type has enough", func(t *testing.T) {
		greedy := pods(1, shape(100, gi/8))
		greedy[0].Shape.Drivers = []string{"d"}
		var all []volume.Attachment
		for i := range 5 {
			all = append(all, volume.Attachment{Driver: "d", Claim: single(i)})
		}
		greedy[0].Dependencies = model.NewDependencies(all, nil)
		plan := Solve(problem(greedy, pool("default", small, large)))
		if len(plan.Unschedulable) != 1 {
			t.Fatalf("%d unschedulable", len(plan.Unschedulable))
		}
		got := plan.Unschedulable[0].Reasons[0]
		if want := (unschedulable.AttachLimit{Driver: "d", Volumes: 5, Max: 4}); got.Code != unschedulable.VolumesNotAttachable || got.AttachLimit != want {
			t.Errorf("reason %+v", got)
		}
	})
}

func TestAttachments(t *testing.T) {
	t.Attr("covers", "L284")
	for _, c := range []struct {
		name   string
		limits volume.Limits
		bound  []*model.Pod
		added  []*model.Pod
		ask    []*model.Pod
		want   int
	}{
		{"no limit is known", nil, []*model.Pod{podWith("d", "a")}, nil, []*model.Pod{podWith("d", "b"), podWith("d", "c")}, 2},
		{"bound pods count", volume.Limits{"d": 2}, []*model.Pod{podWith("d", "a")}, nil, []*model.Pod{podWith("d", "b"), podWith("d", "c")}, 1},
		{"added pods count", volume.Limits{"d": 2}, nil, []*model.Pod{podWith("d", "a")}, []*model.Pod{podWith("d", "b"), podWith("d", "c")}, 1},
		{"a shared claim counts once", volume.Limits{"d": 2}, []*model.Pod{podWith("d", "a")}, nil, []*model.Pod{podWith("d", "a"), podWith("d", "b"), podWith("d", "b")}, 3},
		{"a pod brings several", volume.Limits{"d": 3}, nil, nil, []*model.Pod{podWith("d", "a", "b"), podWith("d", "c", "d"), podWith("d", "e")}, 1},
		{"beyond the limit already", volume.Limits{"d": 1}, []*model.Pod{podWith("d", "a", "b")}, nil, []*model.Pod{podWith("d", "a"), {}, podWith("e", "x"), podWith("d", "c")}, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := compile.Attachments{Node: &model.Node{Attachable: c.limits, Pods: c.bound}}
			a.Add(c.added)
			for range 2 {
				if got := a.Fits(c.ask); got != c.want {
					t.Errorf("%d fit, want %d", got, c.want)
				}
			}
		})
	}
}
