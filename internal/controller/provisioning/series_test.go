package provisioning

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
)

// sized is an instance type with so many cores and GiB, whose price is that of its cores.
func sized(name string, cores, memory int) *cloud.InstanceType {
	it := instanceType(name, "zone-1")
	it.Capacity = fakecluster.Resources("cpu", strconv.Itoa(cores), "memory", fmt.Sprintf("%dGi", memory), "pods", "110")
	it.Offerings[0].Price = 0.1 * float64(cores)
	return it
}

// launchedFor returns the CPU requests of the NodeClaims for pods of one core and so much memory, the batch of which closed so and followed
// so many others of such pods.
func launchedFor(t *testing.T, closed window, earlier, pods int, memory string, types ...*cloud.InstanceType) []string {
	t.Helper()
	w := newHarness(t, readyPool("default"))
	w.Provider.Types = types
	w.p.batcher.closed = closed
	for i := range pods {
		w.see(pendingPod(strconv.Itoa(i), func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests = fakecluster.Resources("cpu", "1", "memory", memory)
		}))
	}
	for _, pod := range w.store.Snapshot().Pending.All() {
		w.p.series.shapes[pod.Shape] = arrivals{earlier, w.p.Clock.Now()}
	}
	w.decide()
	var out []string
	for _, claim := range w.claims() {
		out = append(out, claim.Spec.Resources.Requests.Cpu().String())
	}
	slices.Sort(out)
	return out
}

// TestASeriesLeavesCapacityForTheNextPods: a batch that was cut off at its maximum gets few large nodes instead of small ones of
// the exact size.
func TestASeriesLeavesCapacityForTheNextPods(t *testing.T) {
	ladder := []*cloud.InstanceType{sized("one", 1, 4), sized("two", 2, 8), sized("four", 4, 16), sized("eight", 8, 32)}
	for _, c := range []struct {
		name    string
		closed  window
		earlier int
		pods    int
		want    []string
	}{
		{"a batch that closed because it was idle is packed by price", window{arrived: true}, 0, 11, []string{"1", "2", "8"}},
		{"so is the second of a series", window{arrived: true}, 1, 11, []string{"1", "2", "8"}},
		{"the third leaves capacity free", window{arrived: true}, 2, 11, []string{"3", "8"}},
		{"pods that were known do not", window{}, 2, 11, []string{"1", "2", "8"}},
		{"a batch that was cut off leaves capacity free", window{arrived: true, cutOff: true}, 0, 11, []string{"3", "8"}},
		{"however few pods it has", window{arrived: true, cutOff: true}, 0, 3, []string{"3"}},
		{"more than is used", window{arrived: true, cutOff: true}, 0, 13, []string{"5", "8"}},
		{"the last batch of a series is not to waste much", window{arrived: true, extended: true}, 1, 13, []string{"1", "4", "8"}},
		{"but a small node is not worth its DaemonSets", window{arrived: true, extended: true}, 1, 11, []string{"3", "8"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := launchedFor(t, c.closed, c.earlier, c.pods, "1Gi", ladder...); !slices.Equal(got, c.want) {
				t.Errorf("NodeClaims for %q cores, want %q", got, c.want)
			}
		})
	}
}

// TestFirstFitMustPackAsWell: the alternatives are one node of eight cores and eight GiB for 80 cents an hour, and two of four cores and
// four GiB for 40 each.
func TestFirstFitMustPackAsWell(t *testing.T) {
	type amounts = resource.Vector
	problem := solve.Problem{Pools: []*model.Pool{{Name: "p", Catalog: catalog.Catalog{
		{Name: "large", Groups: []catalog.Group{{Allocatable: amounts{8, 8}}}}, {Name: "small", Groups: []catalog.Group{{Allocatable: amounts{4, 4}}}},
	}}}}
	claim := func(name string, price float64, pods int, requests amounts) solve.NodeClaim {
		return solve.NodeClaim{Pool: "p", InstanceTypes: []string{name}, Price: price, Pods: make([]*model.Pod, pods), Requests: requests}
	}
	packed := solve.Plan{NodeClaims: []solve.NodeClaim{claim("small", 0.4, 2, amounts{4, 1}), claim("small", 0.4, 1, amounts{1, 4})}}
	for _, c := range []struct {
		name     string
		firstFit []solve.NodeClaim
		chosen   bool
	}{
		{"one node instead of two, with capacity to use", []solve.NodeClaim{claim("large", 0.8, 3, amounts{5, 5})}, true},
		{"a more expensive node with capacity to use", []solve.NodeClaim{claim("large", 1.2, 3, amounts{5, 5})}, true},
		{"a more expensive node without capacity to use", []solve.NodeClaim{claim("large", 1.2, 3, amounts{5, 8})}, false},
		{"a node of an unknown type counts as full", []solve.NodeClaim{claim("other", 0.9, 3, amounts{5, 5})}, false},
		{"as many nodes", []solve.NodeClaim{claim("large", 0.1, 2, amounts{5, 1}), claim("small", 0.1, 1, amounts{1, 4})}, false},
		{"fewer pods", []solve.NodeClaim{claim("large", 0.8, 2, amounts{5, 5})}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			solver := func(p solve.Problem) solve.Plan {
				if !p.Options.DisableRepacking {
					t.Error("the second run repacks too")
				}
				return solve.Plan{NodeClaims: c.firstFit}
			}
			got := forSeries(solver, problem, packed, moreToCome())
			if chosen := len(got.NodeClaims) == len(c.firstFit) && got.NodeClaims[0].Price == c.firstFit[0].Price; chosen != c.chosen {
				t.Errorf("first fit chosen: %t, want %t", chosen, c.chosen)
			}
		})
	}
}
