package solve

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/place"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

func TestQueueOrder(t *testing.T) {
	t.Attr("covers", "L125")
	pod := func(uid string, created int64, s *model.Shape) *model.Pod {
		return &model.Pod{UID: uid, Namespace: "default", Name: uid, Created: created, Shape: s}
	}
	gpu := shape(100, gi)
	gpu.Requests = gpu.Requests.Set(resource.Nodes+1, 1)
	urgent := shape(50, gi)
	urgent.Priority = 1000
	big, roomy, small := shape(2000, gi), shape(1000, 2*gi), shape(1000, gi)
	twin := shape(1000, gi)
	headroom := pod("headroom", 0, shape(8000, gi))
	headroom.Virtual = true
	list := []*model.Pod{
		headroom, pod("small-late", 2, small), pod("small-b", 1, twin), pod("small-a", 1, small), pod("roomy", 3, roomy),
		pod("urgent", 9, urgent), pod("big", 9, big), pod("gpu", 9, gpu),
	}
	for _, c := range []struct {
		name   string
		limits map[int]int64
		want   []string
	}{
		{"without limits every pod gets a node, and size decides", nil, []string{"gpu", "big", "roomy", "small-a", "small-b", "small-late", "urgent", "headroom"}},
		{"limits may leave some without one, and importance decides", map[int]int64{resource.CPU: 1 << 40}, []string{"urgent", "gpu", "big", "roomy", "small-a", "small-b", "small-late", "headroom"}},
	} {
		p := pool("default", instanceType("m", 16, 64, 1))
		p.Limits = c.limits
		s := place.NewPlacer(compile.NewRun(problem(list, p)), place.Strategy{})
		i := 0
		for _, r := range s.Queue() {
			for _, got := range r.Pods {
				if got.UID != c.want[i] {
					t.Errorf("%s: place %d has %s, want %s", c.name, i, got.UID, c.want[i])
				}
				i++
			}
		}
	}
}

// TestIndependentPodsOfAClassFollowEachOther: the order of pods with equal requests and age is arbitrary, unless where one of them is decides
// where others may be.
func TestIndependentPodsOfAClassFollowEachOther(t *testing.T) {
	plain, picky, apart := shape(1000, gi), shape(1000, gi), shape(1000, gi)
	picky.Selector = requirement.NewSet(requirement.New(zoneKey, requirement.In, "zone-a"))
	apart.Affinities = []topology.Affinity{far(hostnameKey, "web")}
	for _, c := range []struct {
		name   string
		shapes []*model.Shape
		young  int
		want   [][]string
	}{
		{"two classes", []*model.Shape{plain, picky, plain, picky}, 4, [][]string{{"p-0", "p-2"}, {"p-1", "p-3"}}},
		{"younger pods come later", []*model.Shape{plain, picky, plain, picky}, 2, [][]string{{"p-0"}, {"p-1"}, {"p-2"}, {"p-3"}}},
		{"anti-affinity to each other", []*model.Shape{plain, apart, plain, apart}, 4, [][]string{{"p-0"}, {"p-1"}, {"p-2"}, {"p-3"}}},
	} {
		var list []*model.Pod
		for i, s := range c.shapes {
			p := &model.Pod{UID: fmt.Sprintf("p-%d", i), Namespace: "default", Shape: s}
			if i >= c.young {
				p.Created = 1
			}
			list = append(list, p)
		}
		in := problem(labelled(list, "web"), pool("default", instanceType("m", 16, 64, 1)))
		var got [][]string
		for _, r := range place.NewPlacer(compile.NewRun(in), place.Strategy{}).Queue() {
			var names []string
			for _, p := range r.Pods {
				names = append(names, p.UID)
			}
			got = append(got, names)
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: the runs are %v, want %v", c.name, got, c.want)
		}
	}
}

func TestHeadroomNeverTakesWhatAPodNeeds(t *testing.T) {
	t.Attr("covers", "L350")
	all := pods(1, shape(500, gi))
	for _, p := range pods(3, shape(3000, gi)) {
		p.Virtual = true
		all = append(all, p)
	}
	p := pool("default", instanceType("m", 4, 16, 1))
	p.Limits = map[int]int64{resource.Nodes: 1}
	plan := Solve(problem(all, p))
	if len(plan.NodeClaims) != 1 || plan.NodeClaims[0].Pods[0] != all[0] {
		t.Fatalf("want the one node allowed to be for the pod that exists, got %+v", plan.NodeClaims)
	}
	for _, r := range plan.Unschedulable {
		for _, refused := range r.Pods {
			if !refused.Virtual {
				t.Errorf("%s is unschedulable because of headroom", refused.UID)
			}
		}
	}
}
