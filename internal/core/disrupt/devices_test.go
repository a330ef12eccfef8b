package disrupt

import (
	"fmt"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/device"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

const gpuDriver = "gpu.example.com"

// gpus is a slice with a number of devices that all nodes can use.
func gpus(pool string, n int) *device.Slice {
	s := &device.Slice{Name: pool, Driver: gpuDriver, Pool: pool, Count: 1, AllNodes: true}
	for i := range n {
		s.Devices = append(s.Devices, &device.Device{Name: fmt.Sprintf("%s-%d", pool, i), Origin: gpuDriver})
	}
	return s
}

// gpusOf is a slice with devices of a node.
func (f *fleet) gpusOf(node string, n int) *device.Slice {
	s := gpus(node, n)
	s.AllNodes, s.Node, s.NodeOwner = false, node, node
	return s
}

// brings adds devices to an instance type.
func brings(it *catalog.InstanceType, n int) *catalog.InstanceType {
	it.Devices = device.NewTemplate([]*device.Slice{gpus("new", n)}, nil)
	return it
}

// anything selects every device.
type anything struct{}

func (anything) Matches(*device.Device) (bool, error) { return true, nil }

// use gives the first pod of a node a dedicated claim for one device. The claim consumes takes of the device's memory and
// requests asks of it; with takes 0 it has the whole device.
func (f *fleet) use(n *model.Node, id string, takes, asks int64) (*model.DeviceClaim, *device.Usage) {
	pod := n.Pods[0]
	name := "default/claim-" + pod.Name
	pod.UsesDevices, pod.Dependencies = true, model.NewDependencies(nil, []string{name})
	want := device.Alternative{Name: "gpu", Count: 1, Selection: &device.Selection{Selectors: []device.Selector{anything{}}}}
	share := device.Share{Claim: name, Pods: []string{pod.UID}, PodsOnly: true}
	if takes > 0 {
		want.Capacity = []device.Amount{{Name: "memory", Value: asks}}
		share.Consumed = []device.Amount{{Name: "memory", Value: takes}}
	}
	claim := &model.DeviceClaim{Claim: &device.Claim{Name: name, Allocation: &device.Allocation{}}, Pods: []string{pod.UID}, PodsOnly: true}
	claim.Requests = []device.Request{{Name: "gpu", Alternatives: []device.Alternative{want}}}
	pool := id[:len(id)-2]
	return claim, &device.Usage{Device: device.ID{Driver: gpuDriver, Pool: pool, Name: id}, Shares: []device.Share{share}}
}

// devices is the published devices and the claims.
func (f *fleet) devices(slices []*device.Slice, claims []*model.DeviceClaim, usages ...*device.Usage) {
	var s model.Editor[*device.Slice]
	var c model.Editor[*model.DeviceClaim]
	var u model.Editor[*device.Usage]
	for _, slice := range slices {
		s.Put(slice.Name, slice)
	}
	for _, claim := range claims {
		c.Put(claim.Name, claim)
	}
	for _, usage := range usages {
		u.Put(usage.Device.String(), usage)
	}
	f.input.Problem.Devices = &model.Devices{Slices: s.Publish(), Claims: c.Publish(), Usages: u.Publish()}
}

func TestDevicesMoveWithTheirPods(t *testing.T) {
	t.Run("the device is found again on the replacement", func(t *testing.T) {
		t.Attr("covers", "C487")
		f := newFleet(t, catalog.Catalog{typeOf("x1", 1, onDemand), brings(typeOf("x2", 2, onDemand), 1), brings(typeOf("x8", 8, onDemand), 1)})
		a := f.node("a", onDemand, "x8", 500)
		claim, usage := f.use(a, "a-0", 0, 0)
		f.devices([]*device.Slice{f.gpusOf("a", 1)}, []*model.DeviceClaim{claim}, usage)
		d := f.decide(singleNode(), 1)
		f.want(d, "replace a -> x2 on-demand")
		if got := d.Commands[0].Replacements[0]; len(got.Drivers) != 1 || got.Drivers[0] != gpuDriver || len(got.Devices) != 1 {
			t.Errorf("drivers %v, devices %+v", got.Drivers, got.Devices)
		}
	})
	t.Run("devices of the node are none to go to, and without any other the node stays", func(t *testing.T) {
		t.Attr("covers", "C488 C489")
		for owned, want := range map[bool]string{true: "", false: "delete a"} {
			f := newFleet(t, sizes(1, onDemand))
			a := f.node("a", onDemand, "x8", 500)
			f.node("b", onDemand, "x8", 500).Disruption.Consolidatable = false
			claim, usage := f.use(a, "a-0", 0, 0)
			slice := gpus("a", 2)
			if owned {
				slice.NodeOwner = "a" // the node publishes them, whichever node can use them
			}
			f.devices([]*device.Slice{slice}, []*model.DeviceClaim{claim}, usage)
			d := f.decide(singleNode(), 1)
			if f.want(d, want); owned {
				f.wantObstacle(d, "a", NoOtherPlace, "")
			}
		}
	})
	t.Run("a device that a pod elsewhere has is not free", func(t *testing.T) {
		t.Attr("covers", "C490")
		for taken, want := range map[bool]string{true: "", false: "delete a"} {
			f := newFleet(t, sizes(1, onDemand))
			a := f.node("a", onDemand, "x8", 500)
			b := f.node("b", onDemand, "x8", 500)
			b.Disruption.Consolidatable = false
			ours, own := f.use(a, "a-0", 0, 0)
			claims, usages := []*model.DeviceClaim{ours}, []*device.Usage{own}
			if taken {
				theirs, other := f.use(b, "net-0", 0, 0)
				claims, usages = append(claims, theirs), append(usages, other)
			}
			f.devices([]*device.Slice{f.gpusOf("a", 1), gpus("net", 1)}, claims, usages...)
			f.want(f.decide(singleNode(), 1), want)
		}
	})
	t.Run("devices of several nodes move to one", func(t *testing.T) {
		t.Attr("covers", "C491")
		for count, want := range map[int]string{2: "replace a+b -> x4 on-demand", 1: ""} {
			f := newFleet(t, catalog.Catalog{brings(typeOf("x4", 4, onDemand), count)})
			var slices []*device.Slice
			var claims []*model.DeviceClaim
			var usages []*device.Usage
			for _, name := range []string{"a", "b"} {
				n := f.node(name, onDemand, "x4", 500)
				claim, usage := f.use(n, name+"-0", 0, 0)
				slices, claims, usages = append(slices, f.gpusOf(name, 1)), append(claims, claim), append(usages, usage)
				f.prices[n.ID] = 5 // of a type that is no longer offered
				n.Labels[instanceTypeKey] = "old"
			}
			f.devices(slices, claims, usages...)
			f.want(f.decide(multiNode(), 2), want)
		}
	})
	t.Run("of a shared device only the part of the pod becomes free", func(t *testing.T) {
		t.Attr("covers", "C492")
		for asks, want := range map[int64]string{50: "delete a", 60: ""} {
			f := newFleet(t, sizes(1, onDemand))
			a := f.node("a", onDemand, "x8", 500)
			b := f.node("b", onDemand, "x8", 500)
			b.Disruption.Consolidatable = false
			ours, usage := f.use(a, "net-0", 50, asks)
			theirs, other := f.use(b, "net-0", 50, 50)
			usage.Shares = append(usage.Shares, other.Shares...)
			slice := gpus("net", 1)
			slice.Devices[0].Shared, slice.Devices[0].Capacity = true, []device.Capacity{{Name: "memory", Total: 100}}
			f.devices([]*device.Slice{slice}, []*model.DeviceClaim{ours, theirs}, usage)
			f.want(f.decide(singleNode(), 1), want)
		}
	})
}

func TestConsolidationAvoidsNodesWhosePodsDeviceTaintsEvict(t *testing.T) {
	t.Attr("covers", "N445")
	for effect, want := range map[string]string{"": "delete a", "NoSchedule": "delete a", device.NoExecute: ""} {
		f := newFleet(t, sizes(1, onDemand))
		f.node("a", onDemand, "x1", 500)
		b := f.node("b", onDemand, "x2", 500)
		b.Disruption.Consolidatable = false
		claim, usage := f.use(b, "b-0", 0, 0)
		claim.Allocation.Devices = []device.AllocatedDevice{{ID: usage.Device}}
		slice := f.gpusOf("b", 1)
		if effect != "" {
			slice.Devices[0].Taints = []device.Taint{{Key: "broken", Effect: effect}}
		}
		f.devices([]*device.Slice{slice}, []*model.DeviceClaim{claim}, usage)
		f.want(f.decide(singleNode(), 1), want)
	}
}

func TestPendingPodsGoToNodesWhosePodsDeviceTaintsEvict(t *testing.T) {
	f := newFleet(t, sizes(1, onDemand))
	f.node("a", onDemand, "x1", 500).Pods[0].Unstarted = true
	b := f.node("b", onDemand, "x2", 500)
	b.Disruption.Consolidatable = false
	claim, usage := f.use(b, "b-0", 0, 0)
	claim.Allocation.Devices = []device.AllocatedDevice{{ID: usage.Device}}
	slice := f.gpusOf("b", 1)
	slice.Devices[0].Taints = []device.Taint{{Key: "broken", Effect: device.NoExecute}}
	f.devices([]*device.Slice{slice}, []*model.DeviceClaim{claim}, usage)
	f.want(f.decide(singleNode(), 1), "delete a")
}

// TestPodsWithExtendedResourcesMoveToDevices moves a pod from a node that offers an extended resource to one where a device serves it.
func TestPodsWithExtendedResourcesMoveToDevices(t *testing.T) {
	t.Attr("covers", "N440 N443 N444")
	const gpu = "example.org/gpu"
	class := model.ExtendedClass{Name: "gpu", Selection: &device.Selection{Selectors: []device.Selector{anything{}}}}
	for name, c := range map[string]struct {
		devices int  // on node b
		offered bool // whether b offers the resource itself, all of which its pod uses
		want    string
	}{
		"a device is free":                         {2, false, "delete a"},
		"the device is that of the pod there":      {1, false, ""},
		"devices of a node that offers the others": {2, true, ""},
	} {
		f := newFleet(t, sizes(1, onDemand))
		table := resource.NewTable()
		at := table.Index(gpu)
		f.input.Problem.Resources = table.Names()
		asks := func(p *model.Pod) {
			p.Shape.Requests = p.Shape.Requests.Set(at, 1)
			p.Shape.Extended = []model.ExtendedRequest{{Name: gpu, Counts: []int{1}}}
		}
		a, b := f.node("a", onDemand, "x1"), f.node("b", onDemand, "x4")
		b.Disruption.Consolidatable = false
		a.Allocatable = a.Allocatable.Clone().Set(at, 1)
		if c.offered {
			b.Allocatable = b.Allocatable.Clone().Set(at, 1)
		}
		f.run(a, "a-0", 500, asks)
		f.run(b, "b-0", 500, asks)
		var claims []*model.DeviceClaim
		var usages []*device.Usage
		if !c.offered {
			id := device.ID{Driver: gpuDriver, Pool: "b", Name: "b-0"}
			claims = append(claims, &model.DeviceClaim{Claim: &device.Claim{Name: "default/generated", Allocation: &device.Allocation{}}, Pods: []string{"b-0"}, PodsOnly: true})
			usages = append(usages, &device.Usage{Device: id, Shares: []device.Share{{Claim: "default/generated", Pods: []string{"b-0"}, PodsOnly: true}}})
		}
		f.devices([]*device.Slice{f.gpusOf("b", c.devices)}, claims, usages...)
		f.input.Problem.Devices.Extended = map[string]model.ExtendedClass{gpu: class}
		t.Run(name, func(*testing.T) { f.want(f.decide(singleNode(), 1), c.want) })
	}
}
