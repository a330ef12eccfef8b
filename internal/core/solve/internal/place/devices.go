package place

import (
	"fmt"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/bitset"
	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/device"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/index"
	"github.com/karpenter-anew/karpenter/internal/core/unschedulable"
)

// Devices is the state of devices in a run; nil when no pod uses any.
//
// Pods with dedicated ResourceClaims form separate classes, so a class has one set of ResourceClaims. Their
// allocation is decided for one bin at a time: after labels, taints, ports and capacity, before topology is counted.
type Devices struct {
	Allocations *device.Allocations
	claims      compile.DeviceClaims
	// kinds are the distinct sets of devices of each catalog, in its order, with the columns that have them.
	kinds map[*index.Columns][]deviceKind
	// Failures are the first failure of a class at a template.
	Failures map[*compile.Class]map[*compile.Template]unschedulable.Reason
	// Users are the owners, nodes and open nodes, that use a ResourceClaim, by its name.
	Users map[string]map[string]bool
	// expected are the sets of devices that a node which is not ready yet may have.
	expected map[*compile.Target][]*device.Template
}

// deviceKind is columns whose nodes have the same devices.
type deviceKind struct {
	template *device.Template
	columns  bitset.Set
}

// newDevices is the state of a run's devices before anything is placed; nil when no pod uses any. Devices of nodes count once
// the node is ready; those that only moving pods hold are free.
func newDevices(r *compile.Run) *Devices {
	p := r.Problem
	if !p.UsesDevices() {
		return nil
	}
	usable, moving := map[string]bool{}, p.Moving()
	for _, n := range p.Nodes {
		usable[n.NodeName] = n.Initialized
	}
	leaving := func(uid string) bool { return moving[uid] }
	inventory := device.NewInventory(p.Devices.Slices.Sorted(), p.Devices.TaintRules.Sorted(), func(node string) bool { return usable[node] })
	return &Devices{
		Allocations: device.NewAllocations(inventory, device.NewAllocated(p.Devices.Usages.Sorted(), leaving)),
		claims:      r.Classes.Devices,
		kinds:       map[*index.Columns][]deviceKind{},
		Failures:    map[*compile.Class]map[*compile.Template]unschedulable.Reason{},
		expected:    map[*compile.Target][]*device.Template{},
		Users:       map[string]map[string]bool{},
	}
}

// kindsOf are the distinct sets of devices of a catalog.
func (d *Devices) kindsOf(c *index.Columns) []deviceKind {
	if known, ok := d.kinds[c]; ok {
		return known
	}
	var out []deviceKind
	for column := range c.Len() {
		template := c.Types[c.Owner[column]].Devices
		i := slices.IndexFunc(out, func(k deviceKind) bool { return k.template == template })
		if i < 0 {
			i = len(out)
			out = append(out, deviceKind{template, bitset.New(c.Len())})
		}
		out[i].columns.Add(column)
	}
	d.kinds[c] = out
	return out
}

// among are the sets of devices of the columns in mask.
func (d *Devices) among(c *index.Columns, mask bitset.Set) []*device.Template {
	var out []*device.Template
	for _, k := range d.kindsOf(c) {
		if k.columns.Intersects(mask) {
			out = append(out, k.template)
		}
	}
	return out
}

// having are the columns with one of the sets of devices.
func (d *Devices) having(c *index.Columns, templates []*device.Template) bitset.Set {
	out := bitset.New(c.Len())
	for _, k := range d.kindsOf(c) {
		if slices.Contains(templates, k.template) {
			out.Or(k.columns)
		}
	}
	return out
}

// expectDevices records which devices the requested nodes will have. A node that is not launched may still become one of
// several instance types. Pods that are placed on such a node hold devices of it, whatever the cluster has allocated
// to them since: published devices count only once the node is ready.
func (s *Placer) expectDevices() {
	d := s.Devices
	if d == nil {
		return
	}
	types := map[string]map[string]*catalog.InstanceType{}
	for _, pool := range s.Problem.Pools {
		types[pool.Name] = map[string]*catalog.InstanceType{}
		for _, it := range pool.Catalog {
			types[pool.Name][it.Name] = it
		}
	}
	for _, t := range s.Targets.List {
		if t.Node.Initialized || !t.Node.Managed {
			continue
		}
		for _, name := range t.Node.Requirements.Get(compile.InstanceTypeKey).Values() {
			var template *device.Template
			if it := types[t.Node.Pool][name]; it != nil {
				template = it.Devices
			}
			if !slices.Contains(d.expected[t], template) {
				d.expected[t] = append(d.expected[t], template)
			}
		}
		for _, pod := range t.Node.Pods {
			claims := d.held(t.Node, pod)
			if made := s.Classes.ExtendedClaim(t.Node, pod); made != nil {
				claims = append(claims, made)
			}
			if len(claims) > 0 {
				if a, ok := d.propose(t, claims, s.deviceTimeout()); ok {
					d.commit(t.Node.ID, claims, a)
				}
			}
		}
	}
}

// held are the ResourceClaims of a pod on a starting node that take devices of that node.
func (d *Devices) held(n *model.Node, pod *model.Pod) []*device.Claim {
	claims := d.claims.Of(pod)
	for i, claim := range claims {
		if claim.Allocation == nil {
			continue
		}
		onIt := slices.ContainsFunc(claim.Allocation.Places, func(place requirement.Set) bool {
			return place.Has(device.NodeKey) && place.Get(device.NodeKey).Has(n.NodeName)
		})
		if onIt {
			free := *claim
			free.Allocation = nil
			claims[i] = &free
		}
	}
	return claims
}

// propose allocates ResourceClaims on an existing node, if it can. A node that may still become one of several instance
// types has to have the devices as any of these.
func (d *Devices) propose(t *compile.Target, claims []*device.Claim, timeout func() bool) (*device.Proposal, bool) {
	kinds := d.expected[t]
	if len(kinds) == 0 {
		kinds = []*device.Template{nil}
	}
	a, failure := d.Allocations.Allocate(device.Candidate{
		Owner:        t.Node.ID,
		Node:         t.Node.NodeName,
		Requirements: t.Node.Requirements,
		Fixed:        true,
		Templates:    kinds,
	}, claims, timeout)
	if failure != nil || len(a.Templates) < len(kinds) {
		return nil, false
	}
	return &a, true
}

// commit allocates the proposed devices to an owner.
func (d *Devices) commit(owner string, claims []*device.Claim, a *device.Proposal) {
	d.Allocations.Commit(owner, *a)
	d.use(claims, owner)
}

// use records that an owner uses ResourceClaims.
func (d *Devices) use(claims []*device.Claim, owner string) {
	for _, claim := range claims {
		if d.Users[claim.Name] == nil {
			d.Users[claim.Name] = map[string]bool{}
		}
		d.Users[claim.Name][owner] = true
	}
}

// deviceTimeout reports when the timeout of one search for devices has expired.
func (s *Placer) deviceTimeout() func() bool {
	if s.Problem.Options.DeviceTimeout == nil {
		return nil
	}
	return s.Problem.Options.DeviceTimeout()
}

// fitDevices is fit for one form of pods with ResourceClaims: devices first, from the labels as the pods and their volumes
// narrow them; then everything else, with what the devices require and the instance types that have them.
func (s *Placer) fitDevices(o *compile.Offer, b compile.Bin, c *compile.Class, form *compile.Conjunction, n int) {
	o.Reset()
	on, d := b.Open, s.Devices
	to := on.Template.Step(on.State, form)
	if to == compile.NoState {
		return
	}
	next := on.Template.States[to]
	fits := on.Remaining(on.Template.CapacityIn(next), c, on.Mask.And(next.Mask), 1)
	if fits.Empty() {
		return
	}
	owner, before := claimOwner(b.Number), on.Template.Requirements(next)
	a, failure := d.Allocations.Allocate(device.Candidate{
		Owner:        owner,
		Requirements: before,
		Templates:    d.Allocations.Templates(owner, d.among(on.Template.Columns, fits)),
		Undefined:    s.Problem.Options.WellKnown,
		Accepts: func(kind *device.Template, narrowed requirement.Set) bool {
			then := on.Template.Step(to, s.Classes.Intern(added(before, narrowed)))
			return then != compile.NoState && d.having(on.Template.Columns, []*device.Template{kind}).Intersects(fits.And(on.Template.States[then].Mask))
		},
	}, c.DeviceClaims, s.deviceTimeout())
	if failure != nil {
		d.recordFailure(c, on.Template, deviceReason(failure))
		return
	}
	if more := added(before, a.Requirements); len(more) > 0 {
		form = s.Classes.Intern(form.Set.And(more))
	}
	trial := *on
	trial.Mask = on.Mask.And(d.having(on.Template.Columns, a.Templates))
	if trial.Consider(o, c, form, n); o.Pods == 0 && !o.Deferred {
		d.recordFailure(c, on.Template, unschedulable.Reason{Code: unschedulable.NoInstanceTypeWithDevices})
	}
	o.Devices = &a
}

// added is the requirements of after that before does not have.
func added(before, after requirement.Set) requirement.Set {
	var out requirement.Set
	for _, r := range after {
		if !before.Has(r.Key) || !before.Get(r.Key).Equal(r) {
			out = append(out, r)
		}
	}
	return out
}

func claimOwner(number int) string { return fmt.Sprintf("%s-%04d", compile.NewHostname, number) }

// commitDevices allocates the devices of an accepted offer, and frees the devices that the open node held for types that it cannot
// become any more.
func (s *Placer) commitDevices(b compile.Bin, o *compile.Offer) {
	on := b.Open
	if o.Devices != nil {
		on.Devices = claimOwner(b.Number)
		s.Devices.commit(on.Devices, on.Batches[len(on.Batches)-1].Class().DeviceClaims, o.Devices)
	}
	if on.Devices != "" {
		s.Devices.Allocations.Keep(on.Devices, s.Devices.among(on.Template.Columns, on.Mask))
	}
}

// recordFailure keeps the first failure of a class at a template.
func (d *Devices) recordFailure(c *compile.Class, t *compile.Template, why unschedulable.Reason) {
	c = compile.Asked(c)
	if d.Failures[c] == nil {
		d.Failures[c] = map[*compile.Template]unschedulable.Reason{}
	}
	if _, known := d.Failures[c][t]; !known {
		d.Failures[c][t] = why
	}
}

// deviceReason is a failure as a reason.
func deviceReason(f *device.Failure) unschedulable.Reason {
	if f.Conflict == nil {
		return unschedulable.Reason{Code: unschedulable.DevicesUnavailable, Devices: f.Text}
	}
	conflict := *f.Conflict
	if conflict.Undefined {
		conflict.Have = requirement.New(conflict.Key, requirement.DoesNotExist)
	}
	return unschedulable.Reason{Code: unschedulable.DevicesUnreachable, Conflict: conflict}
}

// SameDrivers cuts the candidates of an open node to those whose nodes have devices of the same drivers as the cheapest:
// the node counts as ready when these drivers have published, and would never be ready if one of them has no devices on the node.
// Candidates that minValues needs stay.
func (s *Placer) SameDrivers(on *compile.OpenNode) {
	if on.Devices == "" {
		return
	}
	wanted := s.Devices.drivers(on.Devices, on.CheapestDevices())
	var same []*device.Template
	for _, kind := range s.Devices.among(on.Template.Columns, on.Mask) {
		if slices.Equal(s.Devices.drivers(on.Devices, kind), wanted) {
			same = append(same, kind)
		}
	}
	mask := on.Mask.And(s.Devices.having(on.Template.Columns, same))
	if len(on.Unmet(on.Template.States[on.State], mask)) == 0 {
		on.Mask = mask
	}
}

// drivers are those whose devices an owner uses as one kind of node, sorted.
func (d *Devices) drivers(owner string, kind *device.Template) []string {
	var out []string
	for _, o := range d.Allocations.Outcomes(owner, kind) {
		for _, g := range o.Grants {
			if g.Template {
				out = append(out, g.Device.Driver)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// DriversOf are those of all candidates of an open node.
func (s *Placer) DriversOf(on *compile.OpenNode) []string {
	if on.Devices == "" {
		return nil
	}
	var out []string
	for _, kind := range s.Devices.among(on.Template.Columns, on.Mask) {
		out = append(out, s.Devices.drivers(on.Devices, kind)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// OutcomesOf is the allocation of the ResourceClaims on an open node if it becomes of the cheapest instance type.
func (s *Placer) OutcomesOf(on *compile.OpenNode) []device.Outcome {
	if on.Devices == "" {
		return nil
	}
	return s.Devices.Allocations.Outcomes(on.Devices, on.CheapestDevices())
}

// OutcomesOn is the allocation of the ResourceClaims placed on an existing node.
func (s *Placer) OutcomesOn(t *compile.Target) []device.Outcome {
	if s.Devices == nil {
		return nil
	}
	var kind *device.Template
	if coming := s.Devices.expected[t]; len(coming) > 0 {
		kind = coming[0]
	}
	return s.Devices.Allocations.Outcomes(t.Node.ID, kind)
}
