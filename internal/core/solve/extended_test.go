package solve

import (
	"fmt"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/device"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

// extended is a pod that requests some of the extended resource example.org/gpu, which is entry at of the vectors; 0 if nothing offers it.
func extended(name string, at, count int) *model.Pod {
	p := user(name)
	s := *p.Shape
	s.Extended = []model.ExtendedRequest{{Name: "example.org/gpu", Counts: []int{count}}}
	if at == 0 {
		s.Requests = s.Requests.Clone().Set(resource.Unoffered, 1)
		s.Unoffered = []resource.Request{{Name: "example.org/gpu", Amount: int64(count)}}
	} else {
		s.Requests = s.Requests.Clone().Set(at, int64(count))
	}
	p.Shape = &s
	return p
}

func TestExtendedResources(t *testing.T) {
	t.Attr("covers", "N440 N443")
	class := model.ExtendedClass{Name: "gpu", Selection: &device.Selection{Selectors: []device.Selector{from(gpuDriver)}}}
	for name, c := range map[string]struct {
		offers  int64 // what the instance type offers of the resource
		classes bool
		counts  []int // of the pods
		running int   // pods that run on a node which is starting, of the same instance type
		want    string
	}{
		"devices of one node serve several pods": {
			0, true,
			[]int{1, 1, 1},
			0,
			"new gpu: pod0,pod1 [pod0/extended-resources=new-0 pod1/extended-resources=new-1] drivers gpu.example.com\n" +
				"new gpu: pod2 [pod2/extended-resources=new-0] drivers gpu.example.com",
		},
		"the resource is offered, and no device is allocated": {2, true, []int{1, 1, 1}, 0, "new gpu: pod0,pod1\nnew gpu: pod2"},
		"without a class, the resource has to be offered": {0, false, []int{1}, 0, "pod0: no instance type has enough resources (example.org/gpu: 1 requested, and no node or instance type offers the resource), " +
			`requirements=karpenter.sh/nodepool In [default], resources={"cpu":"1","example.org/gpu":"1","memory":"1Gi","pods":"1"}`},
		"a starting node keeps the devices of its pods": {
			0, true,
			[]int{1, 1},
			1,
			"new gpu: pod1 [pod1/extended-resources=new-0] drivers gpu.example.com\nn: pod0 [pod0/extended-resources=new-1 running0/extended-resources=new-0]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			table, at := resource.NewTable(), 0
			it := brings(instanceType("gpu", 4, 16, 1.00), gpuDriver, 2)
			if c.offers > 0 {
				at = table.Index("example.org/gpu")
				it.Capacity = it.Capacity.Clone().Set(at, c.offers)
				it.Groups[0].Allocatable = it.Groups[0].Allocatable.Clone().Set(at, c.offers)
			}
			var waiting []*model.Pod
			for i, count := range c.counts {
				waiting = append(waiting, extended("pod"+string(rune('0'+i)), at, count))
			}
			p := problem(waiting, pool("default", it))
			p.Resources, p.Devices = table.Names(), known(nil)
			if c.classes {
				p.Devices.Extended = map[string]model.ExtendedClass{"example.org/gpu": class}
			}
			if c.running > 0 {
				n := coming("n", "default", "gpu")
				for i := range c.running {
					n.Pods = append(n.Pods, extended("running"+string(rune('0'+i)), at, 1))
				}
				p.Nodes = []*model.Node{n}
			}
			if got := outline(Solve(p)); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// BenchmarkExtendedResources places pods of one shape that request an extended resource: on nodes that offer it, and on nodes with devices.
func BenchmarkExtendedResources(b *testing.B) {
	for _, offered := range []bool{true, false} {
		for _, count := range []int{1_000, 10_000} {
			p := manyExtended(count, offered)
			b.Run(fmt.Sprintf("offered=%v/pods=%d", offered, count), func(b *testing.B) {
				for b.Loop() {
					if plan := Solve(p); len(plan.NodeClaims) != count/8 {
						b.Fatalf("%d NodeClaims", len(plan.NodeClaims))
					}
				}
			})
		}
	}
}

// manyExtended are pods of one shape that request the extended resource of a class, and an instance type with eight devices, which it either
// offers as the resource or as devices.
func manyExtended(count int, offered bool) Problem {
	table, at := resource.NewTable(), 0
	it := instanceType("gpu", 64, 256, 8.00)
	if offered {
		at = table.Index("example.org/gpu")
		it.Capacity = it.Capacity.Clone().Set(at, 8)
		it.Groups[0].Allocatable = it.Groups[0].Allocatable.Clone().Set(at, 8)
	} else {
		it = brings(it, gpuDriver, 8)
	}
	waiting := pods(count, extended("pod", at, 1).Shape)
	p := problem(waiting, pool("default", it))
	p.Resources, p.Devices = table.Names(), known(nil)
	p.Devices.Extended = map[string]model.ExtendedClass{
		"example.org/gpu": {Name: "gpu", Selection: &device.Selection{Selectors: []device.Selector{from(gpuDriver)}}},
	}
	return p
}
