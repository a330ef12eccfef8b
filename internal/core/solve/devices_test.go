package solve

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/device"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/unschedulable"
)

const gpuDriver = "gpu.example.com"

// brings is an instance type that comes with n devices of a driver.
func brings(it *catalog.InstanceType, driver string, n int) *catalog.InstanceType {
	it.Devices = device.NewTemplate([]*device.Slice{deviceSlice("new", driver, n)}, nil)
	return it
}

// deviceSlice is a pool of n devices that all nodes can use.
func deviceSlice(pool, driver string, n int) *device.Slice {
	s := &device.Slice{Name: driver + "/" + pool, Driver: driver, Pool: pool, Count: 1, AllNodes: true}
	for i := range n {
		s.Devices = append(s.Devices, &device.Device{Name: fmt.Sprintf("%s-%d", pool, i), Origin: driver})
	}
	return s
}

func onNode(s *device.Slice, name string) *device.Slice {
	s.AllNodes, s.Node, s.NodeOwner = false, name, name
	return s
}

func inZone(s *device.Slice, zone string) *device.Slice {
	s.AllNodes, s.Terms = false, []requirement.Set{requirement.NewSet(requirement.New(zoneKey, requirement.In, zone))}
	return s
}

// from is a selector of the devices of a driver.
type from string

func (f from) Matches(d *device.Device) (bool, error) { return d.Origin == string(f), nil }

// wants is a ResourceClaim for one device of each driver.
func wants(name string, drivers ...string) *model.DeviceClaim {
	c := &model.DeviceClaim{Claim: &device.Claim{Name: "default/" + name}}
	for _, driver := range drivers {
		c.Requests = append(c.Requests, device.Request{Name: driver, Alternatives: []device.Alternative{
			{Name: driver, Count: 1, Selection: &device.Selection{Selectors: []device.Selector{from(driver)}}},
		}})
	}
	return c
}

// user is a pod of one core that uses ResourceClaims.
func user(name string, claims ...string) *model.Pod {
	p := pods(1, shape(1000, gi))[0]
	p.UID, p.Name, p.UsesDevices = name, name, len(claims) > 0
	for _, c := range claims {
		p.Dependencies = model.NewDependencies(nil, append(p.DeviceClaims(), "default/"+c))
	}
	return p
}

// known is published devices and ResourceClaims.
func known(slices []*device.Slice, claims ...*model.DeviceClaim) *model.Devices {
	var s model.Editor[*device.Slice]
	var c model.Editor[*model.DeviceClaim]
	for _, slice := range slices {
		s.Put(slice.Name, slice)
	}
	for _, claim := range claims {
		c.Put(claim.Name, claim)
	}
	return &model.Devices{Slices: s.Publish(), Claims: c.Publish()}
}

// heldFor is the usage of a device that a ResourceClaim has for a pod.
func heldFor(d *model.Devices, claim, pod string, id device.ID) {
	var u model.Editor[*device.Usage]
	u.Put(id.String(), &device.Usage{Device: id, Shares: []device.Share{{Claim: "default/" + claim, Pods: []string{pod}, PodsOnly: true}}})
	d.Usages = u.Publish()
}

// existing is a node of four cores in zone-a.
func existing(name string) *model.Node {
	size := instanceType(name, 4, 16, 1).Capacity
	return &model.Node{
		ID: name, Name: name, NodeName: name, Allocatable: size, Capacity: size, Launched: true, Initialized: true,
		Requirements: requirement.Labels(map[string]string{zoneKey: "zone-a", "kubernetes.io/hostname": name}),
	}
}

// coming is a requested node that may become one of several types of a pool.
func coming(name, pool string, types ...string) *model.Node {
	n := existing(name)
	n.NodeName, n.ClaimName, n.Pool, n.Managed, n.Launched, n.Initialized = "", name, pool, true, len(types) == 1, false
	n.Requirements = n.Requirements.Without("kubernetes.io/hostname").Add(requirement.New(instanceTypeKey, requirement.In, types...))
	return n
}

// outline renders a plan: nodes with their types, pods, drivers and devices; then the unschedulable pods.
func outline(p Plan) string {
	var out []string
	got := func(list []device.Outcome) string {
		var parts []string
		for _, o := range list {
			for _, g := range o.Grants {
				parts = append(parts, strings.TrimPrefix(o.Claim, "default/")+"="+g.Device.Name)
			}
		}
		return strings.Join(parts, " ")
	}
	uids := func(list []*model.Pod) string {
		var names []string
		for _, pod := range list {
			names = append(names, pod.UID)
		}
		slices.Sort(names)
		return strings.Join(names, ",")
	}
	for _, c := range p.NodeClaims {
		line := fmt.Sprintf("new %s: %s", strings.Join(c.InstanceTypes, "|"), uids(c.Pods))
		if zones := c.Requirements.Get(zoneKey); c.Requirements.Has(zoneKey) {
			line += " in " + strings.Join(zones.Values(), "|")
		}
		if len(c.Devices) > 0 {
			line += fmt.Sprintf(" [%s] drivers %s", got(c.Devices), strings.Join(c.Drivers, ","))
		}
		out = append(out, strings.TrimSpace(line))
	}
	for _, placed := range p.Placements {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s: %s [%s]", placed.Node.Name, uids(placed.Pods), got(placed.Devices))))
	}
	for _, r := range p.Unschedulable {
		out = append(out, fmt.Sprintf("%s: %s", uids(r.Pods), r.Reasons))
	}
	return strings.Join(out, "\n")
}

func TestDevices(t *testing.T) {
	t.Attr("covers", "L315 L316 L317 L318 L319 L323 L324 L326 L327 L328 L329 L330 L331 L337 L338 L339")
	const unallocatable = "allocating dynamic resources, no instance type can satisfy the allocation"
	plainType := func() *catalog.InstanceType { return instanceType("plain", 4, 16, 0.10) }
	gpuType := func(n int) *catalog.InstanceType { return brings(instanceType("gpu", 4, 16, 1.00), gpuDriver, n) }
	fleet := pool("default", plainType(), gpuType(2))
	gpus := []*device.Slice{onNode(deviceSlice("p", gpuDriver, 1), "n")}
	zoned := []*device.Slice{inZone(deviceSlice("a", gpuDriver, 1), "zone-a"), inZone(deviceSlice("b", gpuDriver, 1), "zone-b")}
	net := []*device.Slice{deviceSlice("net", gpuDriver, 1)}
	selecting := func(p *model.Pod, zone string) *model.Pod {
		p.Shape.Selector = requirement.NewSet(requirement.New(zoneKey, requirement.In, zone))
		return p
	}
	reaching := func(p *model.Pod, zone string) *model.Pod {
		p.Shape.VolumeTopology = []requirement.Set{requirement.NewSet(requirement.New(zoneKey, requirement.In, zone))}
		return p
	}
	allocated := func(c *model.DeviceClaim, pod string, places ...requirement.Set) *model.DeviceClaim {
		c.Allocation, c.Pods, c.PodsOnly = &device.Allocation{Places: places}, []string{pod}, true
		return c
	}
	bound := func(p *model.Pod, node string) *model.Pod { p.Node = node; return p }
	starting := existing("n")
	starting.Initialized, starting.Managed, starting.Pool = false, true, "default"
	starting.Requirements = starting.Requirements.Add(requirement.New(instanceTypeKey, requirement.In, "gpu"))
	holding := func(n *model.Node, pods ...*model.Pod) *model.Node { c := *n; c.Pods = pods; return &c }
	inUse := func(d *model.Devices, claim, pod string, id device.ID) *model.Devices {
		heldFor(d, claim, pod, id)
		return d
	}
	for _, tc := range []struct {
		name    string
		pods    []*model.Pod
		pools   []*model.Pool
		nodes   []*model.Node
		devices *model.Devices
		want    string
	}{
		{
			"while devices are ignored, pods with claims are rejected and others are not",
			[]*model.Pod{user("a", "c"), user("b")},
			nil, nil, nil,
			"new plain|gpu: b\na: pod has Dynamic Resource Allocation requirements that are not yet supported by Karpenter",
		},
		{
			"a device that a type comes with leaves the types that have it",
			[]*model.Pod{user("a", "c")},
			nil, nil, known(nil, wants("c", gpuDriver)),
			"new gpu: a [c=new-0] drivers gpu.example.com",
		},
		{
			"all drivers are named, in order",
			[]*model.Pod{user("a", "c")},
			[]*model.Pool{pool("default", func() *catalog.InstanceType {
				it := instanceType("both", 4, 16, 1)
				it.Devices = device.NewTemplate([]*device.Slice{deviceSlice("z", "z.example.com", 1), deviceSlice("a", "a.example.com", 1)}, nil)
				return it
			}())},
			nil, known(nil, wants("c", "z.example.com", "a.example.com")),
			"new both: a [c=z-0 c=a-0] drivers a.example.com,z.example.com",
		},
		{
			"a claim that does not exist defers its pod only",
			[]*model.Pod{user("a", "missing"), user("b", "c")},
			nil, nil, known(nil, wants("c", gpuDriver)),
			"new gpu: b [c=new-0] drivers gpu.example.com\na: resourceclaim \"default/missing\" not found",
		},
		{
			"a pod that uses devices but has nothing to allocate needs none",
			[]*model.Pod{func() *model.Pod { p := user("a"); p.UsesDevices = true; return p }()},
			nil, nil, known(nil),
			"new plain|gpu: a",
		},
		{
			"pods share a node as long as it has devices, and open another then",
			[]*model.Pod{user("a", "ca"), user("b", "cb"), user("c", "cc")},
			nil, nil,
			known(nil, wants("ca", gpuDriver), wants("cb", gpuDriver), wants("cc", gpuDriver)),
			"new gpu: a,b [ca=new-0 cb=new-1] drivers gpu.example.com\nnew gpu: c [cc=new-0] drivers gpu.example.com",
		},
		{
			"pods with and without claims share a node",
			[]*model.Pod{user("a", "c"), user("b")},
			nil, nil, known(nil, wants("c", gpuDriver)),
			"new gpu: a,b [c=new-0] drivers gpu.example.com",
		},
		{
			"a free device of a node comes before a new node",
			[]*model.Pod{user("a", "c")},
			nil,
			[]*model.Node{existing("n")},
			known(gpus, wants("c", gpuDriver)),
			"n: a [c=p-0]",
		},
		{
			"a device of a node that a claim has is not given again",
			[]*model.Pod{user("a", "c")},
			nil,
			[]*model.Node{existing("n")},
			inUse(known(gpus, wants("c", gpuDriver)), "x", "live", device.ID{Driver: gpuDriver, Pool: "p", Name: "p-0"}),
			"new gpu: a [c=new-0] drivers gpu.example.com",
		},
		{
			"a device that only a moving pod has is free, and its claim is allocated again",
			[]*model.Pod{bound(user("a", "c"), "gone")},
			[]*model.Pool{pool("default", plainType())},
			nil,
			inUse(known(net, allocated(wants("c", gpuDriver), "a", requirement.NewSet(requirement.New(zoneKey, requirement.In, "zone-z")))),
				"c", "a", device.ID{Driver: gpuDriver, Pool: "net", Name: "net-0"}),
			"new plain: a [c=net-0] drivers",
		},
		{
			"a device in a zone tightens the node",
			[]*model.Pod{user("a", "c")},
			[]*model.Pool{pool("default", plainType())},
			nil, known(zoned, wants("c", gpuDriver)),
			"new plain: a in zone-a [c=a-0] drivers",
		},
		{
			"the device is chosen where the pod may run",
			[]*model.Pod{selecting(user("a", "c"), "zone-b")},
			[]*model.Pool{pool("default", plainType())},
			nil, known(zoned, wants("c", gpuDriver)),
			"new plain: a in zone-b [c=b-0] drivers",
		},
		{
			"the device is chosen where the pod's volumes are",
			[]*model.Pod{reaching(user("a", "c"), "zone-b")},
			[]*model.Pool{pool("default", plainType())},
			nil, known(zoned, wants("c", gpuDriver)),
			"new plain: a in zone-b [c=b-0] drivers",
		},
		{
			"claims in different zones reject the pod",
			[]*model.Pod{user("a", "c", "d")},
			[]*model.Pool{pool("default", plainType())},
			nil, known(nil,
				allocated(wants("c"), "x", requirement.NewSet(requirement.New(zoneKey, requirement.In, "zone-a"))),
				allocated(wants("d"), "x", requirement.NewSet(requirement.New(zoneKey, requirement.In, "zone-z")))),
			"a: incompatible dynamic resource requirements, key topology.kubernetes.io/zone, topology.kubernetes.io/zone In [zone-z] not in topology.kubernetes.io/zone In [zone-a]",
		},
		{
			"a claim in a zone without nodes rejects the pod with that reason",
			[]*model.Pod{selecting(user("a", "c"), "zone-a")},
			[]*model.Pool{pool("default", plainType())},
			nil, known(nil,
				allocated(wants("c"), "x", requirement.NewSet(requirement.New(zoneKey, requirement.In, "zone-b")))),
			"a: incompatible dynamic resource requirements, key topology.kubernetes.io/zone, topology.kubernetes.io/zone In [zone-b] not in topology.kubernetes.io/zone In [zone-a]",
		},
		{
			"an allocated claim places what is allocated beside it, in one of its zones",
			[]*model.Pod{selecting(user("a", "c", "d"), "zone-b")},
			nil, nil, known(nil, wants("d", gpuDriver), allocated(wants("c"), "x",
				requirement.NewSet(requirement.New(zoneKey, requirement.In, "zone-a")).Add(requirement.New(archKey, requirement.In, "amd64")),
				requirement.NewSet(requirement.New(zoneKey, requirement.In, "zone-b")))),
			"new gpu: a in zone-b [d=new-0] drivers gpu.example.com",
		},
		{
			"a device of the cluster serves pods that share its claim on several nodes",
			[]*model.Pod{selecting(user("a", "c"), "zone-a"), selecting(user("b", "c"), "zone-b")},
			[]*model.Pool{pool("default", plainType())},
			nil,
			known(net, wants("c", gpuDriver)),
			"new plain: a in zone-a [c=net-0] drivers\nnew plain: b in zone-b",
		},
		{
			"a device of a node keeps pods that share its claim on that node",
			[]*model.Pod{selecting(user("a", "c"), "zone-a"), selecting(user("b", "c"), "zone-b")},
			nil, nil, known(nil, wants("c", gpuDriver)),
			"new gpu: a in zone-a [c=new-0] drivers gpu.example.com\nb: allocating dynamic resources, the devices of resourceclaim \"default/c\" come with another node",
		},
		{
			"a starting node has the devices of its type, whatever it has published",
			[]*model.Pod{user("a", "ca"), user("b", "cb")},
			nil,
			[]*model.Node{starting},
			known(gpus, wants("ca", gpuDriver), wants("cb", gpuDriver)),
			"n: a,b [ca=new-0 cb=new-1]",
		},
		{
			"pods that are on a starting node already have their part of them",
			[]*model.Pod{user("b", "cb")},
			[]*model.Pool{pool("default", gpuType(1))},
			[]*model.Node{holding(starting, bound(user("a", "ca"), "n"))},
			inUse(known(gpus, allocated(wants("ca", gpuDriver), "a", device.OnNode("n")), wants("cb", gpuDriver)),
				"ca", "a", device.ID{Driver: gpuDriver, Pool: "p", Name: "p-0"}),
			"new gpu: b [cb=new-0] drivers gpu.example.com",
		},
		{
			"a node on its way serves claims if every type that it may become does",
			[]*model.Pod{user("a", "c")},
			nil,
			[]*model.Node{coming("m", "default", "gpu", "plain")},
			known(nil, wants("c", gpuDriver)),
			"new gpu: a [c=new-0] drivers gpu.example.com",
		},
		{
			"a node on its way of a type with devices serves claims",
			[]*model.Pod{user("a", "c")},
			nil,
			[]*model.Node{coming("m", "default", "gpu")},
			known(nil, wants("c", gpuDriver)),
			"m: a [c=new-0]",
		},
		{
			"a pool without such devices rejects the pod",
			[]*model.Pod{user("a", "c")},
			[]*model.Pool{pool("default", plainType())},
			nil, known(nil, wants("c", gpuDriver)),
			"a: " + unallocatable,
		},
		{
			"a type with the device that is too small rejects the pod",
			[]*model.Pod{user("a", "c")},
			[]*model.Pool{pool("default", brings(instanceType("tiny", 1, 1, 1), gpuDriver, 1), instanceType("large", 8, 32, 1))},
			nil,
			known(nil, wants("c", gpuDriver)),
			"a: " + unallocatable,
		},
		{
			"candidates bring devices of the same drivers",
			[]*model.Pod{user("a", "c")},
			[]*model.Pool{pool("default", brings(instanceType("old", 4, 16, 2), "old.example.com", 1), brings(instanceType("new", 4, 16, 1), gpuDriver, 1))},
			nil,
			known(nil, func() *model.DeviceClaim {
				c := wants("c", "old.example.com")
				c.Requests[0].Alternatives = append(c.Requests[0].Alternatives, wants("c", gpuDriver).Requests[0].Alternatives...)
				return c
			}()),
			"new new: a [c=new-0] drivers gpu.example.com",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.pools == nil {
				tc.pools = []*model.Pool{fleet}
			}
			p := problem(tc.pods, tc.pools...)
			p.Nodes, p.Devices = tc.nodes, tc.devices
			for range 2 {
				if got := outline(Solve(p)); got != tc.want {
					t.Errorf("got\n%s\nwant\n%s", got, tc.want)
				}
			}
		})
	}
}

// TestNodesWithDevicesAreSplitByPrice: first fit fills a node as long as any type can hold it, and the largest nodes
// with devices are most expensive.
func TestNodesWithDevicesAreSplitByPrice(t *testing.T) {
	types := []*catalog.InstanceType{
		instanceType("plain", 8, 32, 0.20),
		brings(instanceType("gpu-1", 4, 16, 1.00), gpuDriver, 1),
		brings(instanceType("gpu-4", 16, 64, 4.50), gpuDriver, 4),
	}
	several := func(n int, claims ...string) []*model.Pod {
		var out []*model.Pod
		for i := range n {
			p := user(fmt.Sprint("pod", i), claims...)
			if len(claims) == 0 {
				p.UID = fmt.Sprint("web", i)
			}
			out = append(out, p)
		}
		return out
	}
	own := func(n int) (pods []*model.Pod, claims []*model.DeviceClaim) {
		for i := range n {
			name := fmt.Sprint("c", i)
			p := user(fmt.Sprint("pod", i), name)
			pods, claims = append(pods, p), append(claims, wants(name, gpuDriver))
		}
		return pods, claims
	}
	pods, claims := own(3)
	for _, tc := range []struct {
		name   string
		pods   []*model.Pod
		claims []*model.DeviceClaim
		want   string
	}{
		{
			"several small nodes are cheaper than a large one", pods, claims,
			"new gpu-1|gpu-4: pod0 [c0=new-0] drivers gpu.example.com\nnew gpu-1|gpu-4: pod1 [c1=new-0] drivers gpu.example.com\nnew gpu-1|gpu-4: pod2 [c2=new-0] drivers gpu.example.com",
		},
		{
			"pods without claims do not make a node with devices larger", append(several(6), pods[0]), claims[:1],
			"new gpu-1|gpu-4: pod0,web0,web1 [c0=new-0] drivers gpu.example.com\nnew plain|gpu-4: web2,web3,web4,web5",
		},
		{
			"pods that share the devices of one node stay together", several(5, "c0"), claims[:1],
			"new gpu-4: pod0,pod1,pod2,pod3,pod4 [c0=new-0] drivers gpu.example.com",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := problem(tc.pods, pool("default", types...))
			p.Devices = known(nil, tc.claims...)
			if got := outline(Solve(p)); got != tc.want {
				t.Errorf("got\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
}

// TestASearchThatTakesTooLongFailsItsPodOnly: the timeout of one search does not end the run.
func TestASearchThatTakesTooLongFailsItsPodOnly(t *testing.T) {
	t.Attr("covers", "L128")
	p := problem([]*model.Pod{user("hard", "many"), user("easy", "one"), user("none")}, pool("default", brings(instanceType("gpu", 8, 32, 1), gpuDriver, 40)))
	many := wants("many", gpuDriver)
	many.Requests[0].Alternatives[0].Count = 20
	many.Requests = append(many.Requests, wants("x", "unknown.example.com").Requests...)
	p.Devices = known(nil, many, wants("one", gpuDriver))
	p.Options.DeviceTimeout = func() func() bool { return func() bool { return true } }
	want := "new gpu: easy,none [one=new-0] drivers gpu.example.com\nhard: allocating dynamic resources, the search for devices took too long"
	plan := Solve(p)
	if got := outline(plan); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if len(plan.Undecided) > 0 {
		t.Errorf("%d pods are undecided", len(plan.Undecided))
	}
}

func TestDiagnosesForDevicesHaveTheirCodes(t *testing.T) {
	p := problem([]*model.Pod{user("a", "c")}, pool("default", instanceType("plain", 4, 16, 1)))
	for _, tc := range []struct {
		devices *model.Devices
		want    unschedulable.Code
	}{
		{nil, unschedulable.DevicesIgnored},
		{known(nil), unschedulable.DeviceClaimMissing},
		{known(nil, wants("c", gpuDriver)), unschedulable.DevicesUnavailable},
	} {
		p.Devices = tc.devices
		plan := Solve(p)
		if len(plan.Unschedulable) != 1 || plan.Unschedulable[0].Reasons[0].Code != tc.want {
			t.Errorf("got %s, want %s", outline(plan), tc.want)
		}
	}
}
