package solve

import (
	"fmt"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/bitset"
	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/device"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/reason"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// devices is what a run knows about devices; nil when no pod uses any.
//
// Pods with claims of their own are classes of their own, so a class has one set of claims. What its claims get is decided
// for one machine at a time: after labels, taints, ports and room, before topology is counted.
type devices struct {
	ledger *device.Ledger
	claims deviceClaims
	// kinds are the distinct sets of devices of each catalog, in its order, with the columns that have them.
	kinds map[*columns][]deviceKind
	// failures are what stood in the way of a class at a template, the first time.
	failures map[*class]map[*template]reason.Obstacle
	// users are the machines that use a claim, by its name.
	users map[string]map[string]bool
	// coming are the sets of devices that a machine on its way may bring.
	expected map[*target][]*device.Template
}

// deviceKind is columns whose machines come with the same devices.
type deviceKind struct {
	template *device.Template
	columns  bitset.Set
}

// newDevices is the state of a run's devices before anything is placed; nil when no pod uses any. Devices of nodes count once
// the node is ready; those that only moving pods hold are free.
func newDevices(r *run) *devices {
	p := r.problem
	if !p.usesDevices() {
		return nil
	}
	usable, moving := map[string]bool{}, p.moving()
	for _, n := range p.Nodes {
		usable[n.NodeName] = n.Initialized
	}
	leaving := func(uid string) bool { return moving[uid] }
	inventory := device.NewInventory(p.Devices.Slices.Sorted(), func(node string) bool { return usable[node] })
	return &devices{
		ledger:   device.NewLedger(inventory, device.NewAllocated(p.Devices.Usages.Sorted(), leaving)),
		claims:   r.classes.devices,
		kinds:    map[*columns][]deviceKind{},
		failures: map[*class]map[*template]reason.Obstacle{},
		expected: map[*target][]*device.Template{},
		users:    map[string]map[string]bool{},
	}
}

// kindsOf are the distinct sets of devices of a catalog.
func (d *devices) kindsOf(c *columns) []deviceKind {
	if known, ok := d.kinds[c]; ok {
		return known
	}
	var out []deviceKind
	for column := range c.len() {
		template := c.types[c.owner[column]].Devices
		i := slices.IndexFunc(out, func(k deviceKind) bool { return k.template == template })
		if i < 0 {
			i = len(out)
			out = append(out, deviceKind{template, bitset.New(c.len())})
		}
		out[i].columns.Add(column)
	}
	d.kinds[c] = out
	return out
}

// among are the sets of devices that the columns in mask may come with.
func (d *devices) among(c *columns, mask bitset.Set) []*device.Template {
	var out []*device.Template
	for _, k := range d.kindsOf(c) {
		if k.columns.Intersects(mask) {
			out = append(out, k.template)
		}
	}
	return out
}

// having are the columns that come with one of the sets of devices.
func (d *devices) having(c *columns, templates []*device.Template) bitset.Set {
	out := bitset.New(c.len())
	for _, k := range d.kindsOf(c) {
		if slices.Contains(templates, k.template) {
			out.Or(k.columns)
		}
	}
	return out
}

// expect notes which devices the machines on their way will bring. A machine that is not launched may still become of any of
// several types. Pods that have their place on such a machine hold devices of it, whatever the cluster has given them since:
// what it publishes counts only once it is ready for work.
func (s *placer) expectDevices() {
	d := s.devices
	if d == nil {
		return
	}
	types := map[string]map[string]*catalog.InstanceType{}
	for _, pool := range s.problem.Pools {
		types[pool.Name] = map[string]*catalog.InstanceType{}
		for _, it := range pool.Catalog {
			types[pool.Name][it.Name] = it
		}
	}
	for _, t := range s.targets.list {
		if t.node.Initialized || !t.node.Managed {
			continue
		}
		for _, name := range t.node.Requirements.Get(instanceTypeKey).Values() {
			var template *device.Template
			if it := types[t.node.Pool][name]; it != nil {
				template = it.Devices
			}
			if !slices.Contains(d.expected[t], template) {
				d.expected[t] = append(d.expected[t], template)
			}
		}
		for _, pod := range t.node.Pods {
			if claims := d.held(t.node, pod); len(claims) > 0 {
				if a, ok := d.propose(t, claims, s.deviceTimeout()); ok {
					d.commit(t.node.ID, claims, a)
				}
			}
		}
	}
}

// held are the claims of a pod on a starting node that take devices of that node.
func (d *devices) held(n *model.Node, pod *model.Pod) []*device.Claim {
	claims := d.claims.of(pod)
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

// propose allocates claims on an existing node, if it can. A node that may still become one of several instance types has to
// have the devices as any of these.
func (d *devices) propose(t *target, claims []*device.Claim, timeout func() bool) (*device.Proposal, bool) {
	kinds := d.expected[t]
	if len(kinds) == 0 {
		kinds = []*device.Template{nil}
	}
	a, failure := d.ledger.Allocate(device.Candidate{
		Owner:        t.node.ID,
		Node:         t.node.NodeName,
		Requirements: t.node.Requirements,
		Fixed:        true,
		Templates:    kinds,
	}, claims, timeout)
	if failure != nil || len(a.Templates) < len(kinds) {
		return nil, false
	}
	return &a, true
}

// commit allocates what was proposed to an owner.
func (d *devices) commit(owner string, claims []*device.Claim, a *device.Proposal) {
	d.ledger.Commit(owner, *a)
	d.use(claims, owner)
}

// use notes that a machine uses claims.
func (d *devices) use(claims []*device.Claim, owner string) {
	for _, claim := range claims {
		if d.users[claim.Name] == nil {
			d.users[claim.Name] = map[string]bool{}
		}
		d.users[claim.Name][owner] = true
	}
}

// patience tells when one search for devices has taken long enough.
func (s *placer) deviceTimeout() func() bool {
	if s.problem.Options.DeviceTimeout == nil {
		return nil
	}
	return s.problem.Options.DeviceTimeout()
}

// fitDevices is fit for one form of pods with ResourceClaims: devices first, from the labels as the pods and their volumes
// narrow them; then everything else, with what the devices require and the instance types that have them.
func (s *placer) fitDevices(o *offer, b bin, c *class, form *conjunction, n int) {
	o.reset()
	on, d := b.open, s.devices
	to := on.t.step(on.state, form)
	if to == noState {
		return
	}
	next := on.t.states[to]
	fits := on.remaining(c, on.mask.And(next.mask), 1)
	if fits.Empty() {
		return
	}
	owner, before := claimOwner(b.number), on.t.requirements(next)
	a, failure := d.ledger.Allocate(device.Candidate{
		Owner:        owner,
		Requirements: before,
		Templates:    d.ledger.Templates(owner, d.among(on.t.columns, fits)),
		Undefined:    s.problem.Options.WellKnown,
		Accepts: func(kind *device.Template, narrowed requirement.Set) bool {
			then := on.t.step(to, s.classes.intern(added(before, narrowed)))
			return then != noState && d.having(on.t.columns, []*device.Template{kind}).Intersects(fits.And(on.t.states[then].mask))
		},
	}, c.deviceClaims, s.deviceTimeout())
	if failure != nil {
		d.recordFailure(c, on.t, deviceObstacle(failure))
		return
	}
	if more := added(before, a.Requirements); len(more) > 0 {
		form = s.classes.intern(form.set.And(more))
	}
	trial := *on
	trial.mask = on.mask.And(d.having(on.t.columns, a.Templates))
	if trial.consider(o, c, form, n); o.pods == 0 && !o.deferred {
		d.recordFailure(c, on.t, reason.Obstacle{Code: reason.NoInstanceTypeWithDevices})
	}
	o.devices = &a
}

// added is what after says that before does not.
func added(before, after requirement.Set) requirement.Set {
	var out requirement.Set
	for _, r := range after {
		if !before.Has(r.Key) || !before.Get(r.Key).Equal(r) {
			out = append(out, r)
		}
	}
	return out
}

func claimOwner(number int) string { return fmt.Sprintf("%s-%04d", newHostname, number) }

// commitDevices allocates the devices of an accepted offer, and frees what the open node held of types that it cannot become
// any more.
func (s *placer) commitDevices(b bin, o *offer) {
	on := b.open
	if o.devices != nil {
		on.devices = claimOwner(b.number)
		s.devices.commit(on.devices, on.batches[len(on.batches)-1].class().deviceClaims, o.devices)
	}
	if on.devices != "" {
		s.devices.ledger.Keep(on.devices, s.devices.among(on.t.columns, on.mask))
	}
}

// note keeps the first thing that stood in the way of a class at a template.
func (d *devices) recordFailure(c *class, t *template, why reason.Obstacle) {
	if d.failures[c] == nil {
		d.failures[c] = map[*template]reason.Obstacle{}
	}
	if _, known := d.failures[c][t]; !known {
		d.failures[c][t] = why
	}
}

// deviceObstacle is a failure as an obstacle.
func deviceObstacle(f *device.Failure) reason.Obstacle {
	if f.Conflict == nil {
		return reason.Obstacle{Code: reason.DevicesUnavailable, Devices: f.Text}
	}
	conflict := *f.Conflict
	if conflict.Undefined {
		conflict.Have = requirement.New(conflict.Key, requirement.DoesNotExist)
	}
	return reason.Obstacle{Code: reason.DevicesUnreachable, Conflict: conflict}
}

// sameDrivers cuts a claim's candidates to those whose machines bring devices of the same drivers as the cheapest: the node
// counts as ready when these drivers have published, and would wait for ever for one that it does not have. Candidates that
// are needed for variety stay.
func (s *placer) sameDrivers(on *openNode) {
	if on.devices == "" {
		return
	}
	wanted := s.devices.drivers(on.devices, on.cheapestDevices())
	var same []*device.Template
	for _, kind := range s.devices.among(on.t.columns, on.mask) {
		if slices.Equal(s.devices.drivers(on.devices, kind), wanted) {
			same = append(same, kind)
		}
	}
	mask := on.mask.And(s.devices.having(on.t.columns, same))
	if len(on.unmet(on.t.states[on.state], mask)) == 0 {
		on.mask = mask
	}
}

// drivers are those whose devices the machine brings, as a kind of machine, sorted.
func (d *devices) drivers(owner string, kind *device.Template) []string {
	var out []string
	for _, o := range d.ledger.Outcomes(owner, kind) {
		for _, g := range o.Grants {
			if g.Template {
				out = append(out, g.Device.Driver)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// driversOf are those of all candidates of a claim.
func (s *placer) driversOf(on *openNode) []string {
	if on.devices == "" {
		return nil
	}
	var out []string
	for _, kind := range s.devices.among(on.t.columns, on.mask) {
		out = append(out, s.devices.drivers(on.devices, kind)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// outcomesOf is what the claims in a planned machine get if it becomes of the cheapest type.
func (s *placer) outcomesOf(on *openNode) []device.Outcome {
	if on.devices == "" {
		return nil
	}
	return s.devices.ledger.Outcomes(on.devices, on.cheapestDevices())
}

// outcomesOn is what the claims placed on a machine that exists get.
func (s *placer) outcomesOn(t *target) []device.Outcome {
	if s.devices == nil {
		return nil
	}
	var kind *device.Template
	if coming := s.devices.expected[t]; len(coming) > 0 {
		kind = coming[0]
	}
	return s.devices.ledger.Outcomes(t.node.ID, kind)
}
