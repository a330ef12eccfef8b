package solve

import (
	"fmt"
	"slices"
	"strings"

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
	claims map[string]*device.Claim
	// kinds are the distinct sets of devices of each catalog, in its order, with the columns that have them.
	kinds map[*columns][]deviceKind
	// failures are what stood in the way of a class at a template, the first time.
	failures map[*class]map[*template]reason.Obstacle
	// pieces is how many machines were looked at to run the pods of a claim on.
	pieces int
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

// gate takes pods out of p that cannot be asked about: those with claims while devices are ignored, and those with claims
// that do not exist.
func rejectDeviceless(p Problem) (Problem, []UnschedulablePods) {
	if !slices.ContainsFunc(p.Pods, func(pod *model.Pod) bool { return pod.UsesDevices }) {
		return p, nil
	}
	var order []reason.Obstacle
	refused := map[string][]*model.Pod{}
	var asked []*model.Pod
	for _, pod := range p.Pods {
		why, ok := p.deviceRejection(pod)
		if ok {
			asked = append(asked, pod)
			continue
		}
		if _, known := refused[why.Claim]; !known {
			order = append(order, why)
		}
		refused[why.Claim] = append(refused[why.Claim], pod)
	}
	p.Pods = asked
	slices.SortFunc(order, func(a, b reason.Obstacle) int { return strings.Compare(a.Claim, b.Claim) })
	out := make([]UnschedulablePods, len(order))
	for i, why := range order {
		slices.SortFunc(refused[why.Claim], func(a, b *model.Pod) int { return strings.Compare(a.UID, b.UID) })
		out[i] = UnschedulablePods{Pods: refused[why.Claim], Reasons: reason.Obstacles{why}}
	}
	return p, out
}

// barred is why the claims of a pod cannot be looked at; ok when they can.
func (p Problem) deviceRejection(pod *model.Pod) (why reason.Obstacle, ok bool) {
	if !pod.UsesDevices {
		return reason.Obstacle{}, true
	}
	if p.Devices == nil {
		return reason.Obstacle{Code: reason.DevicesIgnored}, false
	}
	for _, name := range pod.DeviceClaims() {
		if _, exists := p.Devices.Claims.Get(name); !exists {
			return reason.Obstacle{Code: reason.DeviceClaimMissing, Claim: name}, false
		}
	}
	return reason.Obstacle{}, true
}

// newDevices is the state of a run's devices before anything is placed. Devices of nodes count once the node is ready for
// work; those that leaving pods alone hold are free.
func newDevices(p Problem) *devices {
	uses := func(pod *model.Pod) bool { return len(pod.DeviceClaims()) > 0 }
	if p.Devices == nil || !slices.ContainsFunc(p.Pods, uses) {
		return nil
	}
	usable, leaves := map[string]bool{}, map[string]bool{}
	for _, n := range p.Nodes {
		usable[n.NodeName] = n.Initialized
	}
	for _, pod := range p.Pods {
		leaves[pod.UID] = pod.Node != ""
	}
	leaving := func(uid string) bool { return leaves[uid] }
	inventory := device.NewInventory(p.Devices.Slices.Sorted(), func(node string) bool { return usable[node] })
	d := &devices{
		ledger:   device.NewLedger(inventory, device.NewAllocated(p.Devices.Usages.Sorted(), leaving)),
		claims:   map[string]*device.Claim{},
		kinds:    map[*columns][]deviceKind{},
		failures: map[*class]map[*template]reason.Obstacle{},
		expected: map[*target][]*device.Template{},
		users:    map[string]map[string]bool{},
	}
	for name, claim := range p.Devices.Claims.All() {
		d.claims[name] = claim.Claim
		if claim.Allocation != nil && claim.PodsOnly && !slices.ContainsFunc(claim.Pods, func(uid string) bool { return !leaving(uid) }) {
			// Its pods move, and it is allocated again where they go.
			free := *claim.Claim
			free.Allocation = nil
			d.claims[name] = &free
		}
	}
	return d
}

// of is the claims of a pod.
func (d *devices) of(p *model.Pod) []*device.Claim {
	if d == nil || len(p.DeviceClaims()) == 0 {
		return nil
	}
	out := make([]*device.Claim, 0, len(p.DeviceClaims()))
	for _, name := range p.DeviceClaims() {
		if claim := d.claims[name]; claim != nil {
			out = append(out, claim)
		}
	}
	return out
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
func (s *solver) expectDevices() {
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
	for i, t := range s.targets.list {
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
				s.allocateOn(i, claims)
			}
		}
	}
}

// held are the claims of a pod on a starting node that take devices of that node.
func (d *devices) held(n *model.Node, pod *model.Pod) []*device.Claim {
	claims := d.of(pod)
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

// provide gives claims devices on a machine that exists, if it can. A machine that may still become of several types has to
// be able to give them as any of these.
func (s *solver) allocateOn(number int, claims []*device.Claim) bool {
	t := s.targets.list[number]
	kinds := s.devices.expected[t]
	if len(kinds) == 0 {
		kinds = []*device.Template{nil}
	}
	a, failure := s.devices.ledger.Allocate(device.Candidate{
		Owner:        t.node.ID,
		Node:         t.node.NodeName,
		Requirements: t.node.Requirements,
		Fixed:        true,
		Templates:    kinds,
	}, claims, s.deviceTimeout())
	if failure != nil || len(a.Templates) < len(kinds) {
		return false
	}
	s.devices.ledger.Commit(t.node.ID, a)
	s.devices.use(claims, t.node.ID)
	return true
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
func (s *solver) deviceTimeout() func() bool {
	if s.problem.Options.DeviceTimeout == nil {
		return nil
	}
	return s.problem.Options.DeviceTimeout()
}

// offer is what claim number number, open or about to be, would become by taking pods of the class.
func (s *solver) offer(on *openNode, number int, c *class, forms []*conjunction, n int) offer {
	if len(c.deviceClaims) == 0 {
		return on.considerAny(c, forms, n)
	}
	var got offer
	for _, form := range forms {
		if got = s.offerDevices(on, number, c, form, n); got.pods > 0 {
			break
		}
	}
	return got
}

// offerDevices is the offer for one form: devices first, from the labels as the pods and their volumes narrow them; then
// everything else, with what the devices add and the types that come with them.
func (s *solver) offerDevices(on *openNode, number int, c *class, form *conjunction, n int) offer {
	to := on.t.step(on.state, form)
	if to == noState {
		return offer{}
	}
	next := on.t.states[to]
	fits := on.remaining(c, on.mask.And(next.mask), 1)
	if fits.Empty() {
		return offer{}
	}
	owner, d := claimOwner(number), s.devices
	before := on.t.requirements(next)
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
		d.recordFailure(c, on.t, whyNoDevices(failure))
		return offer{}
	}
	if more := added(before, a.Requirements); len(more) > 0 {
		form = s.classes.intern(form.set.And(more))
	}
	trial := *on
	trial.mask = on.mask.And(d.having(on.t.columns, a.Templates))
	got := trial.consider(c, form, n)
	if got.pods == 0 && !got.deferred {
		d.recordFailure(c, on.t, reason.Obstacle{Code: reason.NoInstanceTypeWithDevices})
	}
	got.allotment = &a
	return got
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

// settleDevices makes an accepted offer binding, and gives back what the claim held for types that it cannot become any
// more.
func (s *solver) commitDevices(on *openNode, number int, got offer) {
	if got.allotment != nil {
		on.devices = claimOwner(number)
		s.devices.use(on.batches[len(on.batches)-1].class().deviceClaims, on.devices)
		s.devices.ledger.Commit(on.devices, *got.allotment)
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

// whyDevices is what stood in the way of the claims of a class at a pool, if they were what failed.
func (s *solver) whyDevices(v *poolFilter, st *level) (reason.Obstacle, bool) {
	if s.devices == nil {
		return reason.Obstacle{}, false
	}
	t, c := v.t, v.c
	r, ok := s.devices.failures[c][t]
	if !ok || t.limits.unlimited() {
		return r, ok
	}
	v.runTests()
	// Limits may have taken away the types that bring the devices.
	for _, o := range s.options(c, st) {
		on := t.newOpenNode(v.portFree.And(v.attaching).And(t.states[t.root].mask))
		got := s.offer(on, len(s.open), c, o.forms, 1)
		t.free([]*openNode{on})
		if got.pods > 0 {
			return reason.Obstacle{Code: reason.LimitsExceeded, Narrowed: true, Limits: v.limits(got.mask, t.states[got.state])}, true
		}
	}
	return r, ok
}

// whyNoDevices words a failure.
func whyNoDevices(f *device.Failure) reason.Obstacle {
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
func (s *solver) sameDrivers(on *openNode) {
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

// cheapestDevices are what the cheapest candidate comes with.
func (on *openNode) cheapestDevices() *device.Template {
	for _, column := range on.t.byPrice(on.t.states[on.state]) {
		if on.mask.Has(int(column)) {
			return on.t.columns.types[on.t.columns.owner[column]].Devices
		}
	}
	return nil
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
func (s *solver) driversOf(on *openNode) []string {
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
func (s *solver) outcomesOf(on *openNode) []device.Outcome {
	if on.devices == "" {
		return nil
	}
	return s.devices.ledger.Outcomes(on.devices, on.cheapestDevices())
}

// outcomesOn is what the claims placed on a machine that exists get.
func (s *solver) outcomesOn(t *target) []device.Outcome {
	if s.devices == nil {
		return nil
	}
	var kind *device.Template
	if coming := s.devices.expected[t]; len(coming) > 0 {
		kind = coming[0]
	}
	return s.devices.ledger.Outcomes(t.node.ID, kind)
}
