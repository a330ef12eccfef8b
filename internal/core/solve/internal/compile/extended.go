package compile

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/bitset"
	"github.com/karpenter-anew/karpenter/internal/core/device"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/index"
)

// Problem: a node serves the request for an extended resource that has a device class either by what its device plugin offers, or, if it
// offers none, by devices that kube-scheduler allocates. What a pod needs depends on the node. Approach: the Needs of a class with such requests are
// without them, and the class decides nothing itself: ServedBy returns the class as nodes of one kind see it, with the resources in its
// Needs, or, for one of its pods, with a claim for devices. Invariant: a node serves a name in one way. Cost: a class for each pod that
// devices serve.
//
// Source: specification of version 1.15, extended resources by dynamic resource allocation; KEP-5004.

// maxExtended is how many extended resources of a pod are served by devices. Others have to be offered by nodes.
const maxExtended = 8

// ExtendedNeeds are requests that devices may serve.
type ExtendedNeeds struct {
	requests []extendedNeed
	// served are the results of ServedBy.
	served map[servedPod]*Class
	// partitions are the columns of catalogs by how they serve the requests.
	partitions map[*index.Columns][]Partition
}

// extendedNeed is the request for one resource. at is its entry in vectors, or unoffered.
type extendedNeed struct {
	model.ExtendedRequest
	class model.ExtendedClass
	at    int
}

// unoffered stands for the entry of a resource that nothing offers.
const unoffered = resource.Unoffered

// Served says which of the requests devices serve: bit i stands for the i-th. What a node offers serves the others.
type Served uint

// servedPod is a pod, by UID, and how devices serve it; the pod is empty where they do not.
type servedPod struct {
	by  Served
	pod string
}

// servedBy is how devices serve a class, and the class that it was made of.
type servedBy struct {
	by Served
	of *Class
}

// Partition is the columns of a catalog that serve requests in one way.
type Partition struct {
	By      Served
	Columns bitset.Set
}

// extendedClasses are the device classes of extended resources.
func (p Problem) extendedClasses() map[string]model.ExtendedClass {
	if p.Devices == nil {
		return nil
	}
	return p.Devices.Extended
}

// extendedBy are the requests of a shape for resources that have a device class.
func extendedBy(shape *model.Shape, classes map[string]model.ExtendedClass) []model.ExtendedRequest {
	if len(classes) == 0 {
		return nil
	}
	var out []model.ExtendedRequest
	for _, r := range shape.Extended {
		if _, ok := classes[r.Name]; ok && len(out) < maxExtended {
			out = append(out, r)
		}
	}
	return out
}

// extends reports whether devices may serve requests of the shape.
func (cs *Classes) extends(shape *model.Shape) bool {
	return len(extendedBy(shape, cs.extendedClasses)) > 0
}

// extend takes the requests that devices may serve out of the needs of a class.
func (cs *Classes) extend(c *Class) {
	if c.extends {
		c.Extended = cs.extendedNeeds(c.Shape)
		c.Needs = needs(c.Extended.without(c.Shape, ^Served(0)))
	}
}

// extendedNeeds are the requests of a shape that devices may serve.
func (cs *Classes) extendedNeeds(shape *model.Shape) *ExtendedNeeds {
	out := &ExtendedNeeds{served: map[servedPod]*Class{}, partitions: map[*index.Columns][]Partition{}}
	for _, r := range extendedBy(shape, cs.extendedClasses) {
		at := unoffered
		if _, found := resource.FindRequest(shape.Unoffered, r.Name); !found {
			at = max(slices.Index(cs.resources, r.Name), unoffered)
		}
		out.requests = append(out.requests, extendedNeed{r, cs.extendedClasses[r.Name], at})
	}
	return out
}

// OfferedClasses are the device classes of the extended resources that pods on an open node, or one more pod of the class, use as nodes offer
// them, in the order of the resources' entries in vectors.
func (cs *Classes) OfferedClasses(on *OpenNode, c *Class) []model.ExtendedClass {
	if len(cs.extendedClasses) == 0 {
		return nil
	}
	var out []model.ExtendedClass
	for r := unoffered + 1; r < len(cs.resources); r++ {
		if class, ok := cs.extendedClasses[cs.resources[r]]; ok && (on.Total.At(r) > 0 || slices.ContainsFunc(c.Needs, func(n Need) bool { return n.Resource == r })) {
			out = append(out, class)
		}
	}
	return out
}

// LeastRequests are the requests of a pod on nodes where devices serve as many of them as possible.
func (cs *Classes) LeastRequests(shape *model.Shape) resource.Vector {
	if !cs.extends(shape) {
		return shape.Requests
	}
	return cs.extendedNeeds(shape).without(shape, ^Served(0))
}

// ExtendedClaim is the claim for extended resources of a pod that runs on a node, or is expected there; nil for most pods.
func (cs *Classes) ExtendedClaim(n *model.Node, pod *model.Pod) *device.Claim {
	if !cs.extends(pod.Shape) {
		return nil
	}
	e := cs.extendedNeeds(pod.Shape)
	by := e.servedBy(n.Allocatable)
	if by == 0 {
		return nil
	}
	return e.claim(pod, by)
}

// without is the requests of a shape without those that devices serve.
func (e *ExtendedNeeds) without(shape *model.Shape, by Served) resource.Vector {
	out := shape.Requests.Clone()
	for i, r := range e.requests {
		switch {
		case !by.has(i):
		case r.at == unoffered:
			out = out.Set(unoffered, out.At(unoffered)-1)
		default:
			out = out.Set(r.at, 0)
		}
	}
	return out
}

func (s Served) has(i int) bool { return s&(1<<i) != 0 }

// resources are the entries of vectors that nodes may serve instead of devices.
func (e *ExtendedNeeds) resources() []int {
	if e == nil {
		return nil
	}
	var out []int
	for _, r := range e.requests {
		out = append(out, r.at)
	}
	return out
}

// ServedBy is the class on nodes where devices serve some of its requests, for a pod of the class. Without a pod, it is for one that is not
// placed yet.
func ServedBy(c *Class, by Served, pod *model.Pod) *Class {
	key := servedPod{by: by}
	if by != 0 && pod != nil {
		key.pod = pod.UID
	}
	if known := c.Extended.served[key]; known != nil {
		return known
	}
	out := *c
	shape, specifics := *c.Shape, *c.podSpecifics
	shape.Requests = c.Extended.without(c.Shape, by)
	specifics.DeviceClaims = slices.Clip(c.DeviceClaims)
	if by != 0 {
		specifics.DeviceClaims = append(specifics.DeviceClaims, c.Extended.claim(pod, by))
	}
	out.Shape, out.podSpecifics, out.Needs = &shape, &specifics, needs(shape.Requests)
	out.Extended, out.served = nil, &servedBy{by, c}
	c.Extended.served[key] = &out
	return &out
}

// claim is the claim that kube-scheduler makes for a pod.
func (e *ExtendedNeeds) claim(pod *model.Pod, by Served) *device.Claim {
	claim := &device.Claim{Name: "/extended-resources"}
	if pod != nil {
		claim.Name = pod.ID() + claim.Name
	}
	for i, r := range e.requests {
		if !by.has(i) {
			continue
		}
		claim.ExtendedResources = append(claim.ExtendedResources, r.Name)
		if r.class.Problem != "" {
			claim.Problem = r.class.Problem
		}
		for _, count := range r.Counts {
			claim.Requests = append(claim.Requests, device.Request{Name: r.Name, Alternatives: []device.Alternative{{
				Name: r.Name, Count: count, Selection: r.class.Selection,
			}}})
		}
	}
	return claim
}

// servedBy says which requests devices serve on a node with these allocatable resources: those for resources of which it has none.
func (e *ExtendedNeeds) servedBy(allocatable resource.Vector) Served {
	var out Served
	for i, r := range e.requests {
		if r.at == unoffered || allocatable.At(r.at) <= 0 {
			out |= 1 << i
		}
	}
	return out
}

// ServedOn is the class as a node serves it, for a pod of the class.
func ServedOn(c *Class, n *model.Node, pod *model.Pod) *Class {
	if c.Extended == nil {
		return c
	}
	return ServedBy(c, c.Extended.servedBy(n.Allocatable), pod)
}

// Partitions are the columns by how they serve the requests, those with the fewest requests for devices first.
func (e *ExtendedNeeds) Partitions(columns *index.Columns) []Partition {
	if known, ok := e.partitions[columns]; ok {
		return known
	}
	var out []Partition
	for column := range columns.Len() {
		by := e.servedBy(columns.Allocatable(column))
		i := slices.IndexFunc(out, func(p Partition) bool { return p.By == by })
		if i < 0 {
			i = len(out)
			out = append(out, Partition{by, bitset.New(columns.Len())})
		}
		out[i].Columns.Add(column)
	}
	slices.SortFunc(out, func(a, b Partition) int { return int(a.By) - int(b.By) })
	e.partitions[columns] = out
	return out
}

// ServingColumns are the columns that serve the requests as they have to for the class; ok is false for classes that any column serves.
func ServingColumns(c *Class, columns *index.Columns) (set bitset.Set, ok bool) {
	if c.served == nil {
		return nil, false
	}
	for _, p := range c.served.of.Extended.Partitions(columns) {
		if p.By == c.served.by {
			return p.Columns, true
		}
	}
	return bitset.New(columns.Len()), true
}

// OfOnePod reports whether the class has a claim for one of its pods.
func OfOnePod(c *Class) bool { return c.served != nil && c.served.by != 0 }

// servedClass is the class itself if ServedBy made it; nil for other classes.
func servedClass(c *Class) *Class {
	if c.served == nil {
		return nil
	}
	return c
}

// Plain is the class on nodes that offer all of its resources; the class itself for most classes.
func Plain(c *Class) *Class {
	if c.Extended == nil {
		return c
	}
	return ServedBy(c, 0, nil)
}

// Asked is the class that ServedBy made this one of, or the class itself.
func Asked(c *Class) *Class {
	if c.served == nil {
		return c
	}
	return c.served.of
}
