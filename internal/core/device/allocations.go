package device

import (
	"maps"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

// Allocations records device allocations during one scheduling run: those of the cluster, and those that the run has made since.
//
// A planned node may still become one of several instance types. It holds devices for each template, because only one of them
// will be launched: what it uses of an existing device is the maximum over its templates. Sums are computed on demand, so that
// dropping a template releases exactly the difference.
type Allocations struct {
	inventory *Inventory
	taken     Allocated
	// counterUsage is what the cluster's claims draw from counters.
	counterUsage map[counter]int64
	// overdrawn are the pools with a counter that the cluster's claims draw more from than there is.
	overdrawn map[*pool]bool
	// The owners that hold a device of the cluster, a part of its capacity, or consume a counter.
	exclusiveOwner map[*entry]string
	capacityOwners map[*entry]map[string]bool
	counterOwners  map[counter]map[string]bool
	owners         map[string]holdings
	// provisional are the allocations of this run by claim, claims the names of those that an owner holds.
	provisional map[string]*provisional
	claims      map[string]map[string]bool
	matches     map[matchKey]matchResult
	// taints are those that rules add to devices.
	taints map[*entry][]Taint
}

// holdings are the devices that one owner holds, by template.
type holdings map[*Template]*holding

// holding is a set of exclusive devices, consumed capacity of shared devices, and consumed counters.
type holding struct {
	exclusive map[*entry]bool
	capacity  map[*entry]map[string]int64
	counters  map[counter]int64
}

func newHolding() *holding {
	return &holding{exclusive: map[*entry]bool{}, capacity: map[*entry]map[string]int64{}, counters: map[counter]int64{}}
}

// provisional is the allocation of a claim in this run.
type provisional struct {
	owner    string
	outcomes map[*Template]Outcome
}

// matchKey is the argument of a cached selector evaluation, matchResult its result.
type matchKey struct {
	device *Device
	wanted *Selection
}

type matchResult struct {
	ok  bool
	err error
}

// NewAllocations returns the allocations over published devices, of which some are allocated.
func NewAllocations(v *Inventory, taken Allocated) *Allocations {
	l := &Allocations{
		inventory: v, taken: taken,
		counterUsage: map[counter]int64{}, overdrawn: map[*pool]bool{}, exclusiveOwner: map[*entry]string{}, capacityOwners: map[*entry]map[string]bool{},
		counterOwners: map[counter]map[string]bool{}, owners: map[string]holdings{}, provisional: map[string]*provisional{}, claims: map[string]map[string]bool{}, matches: map[matchKey]matchResult{},
		taints: map[*entry][]Taint{},
	}
	for _, p := range v.pools {
		l.countUsage(p)
	}
	return l
}

// countUsage sums up what allocated devices draw from the counters of a pool. An allocation names a device by its name, so that all
// devices of that name draw, on whichever node each of them is, as in kube-scheduler.
func (l *Allocations) countUsage(p *pool) {
	for _, e := range p.entries {
		if len(e.ConsumesCounters) == 0 || !l.taken.inUse(e.id) {
			continue
		}
		for _, d := range e.ConsumesCounters {
			c := counter{p, d.Set, d.Counter}
			l.counterUsage[c] = resource.AddSaturated(l.counterUsage[c], d.Amount)
			if l.counterUsage[c] > p.counters[c] {
				l.overdrawn[p] = true
			}
		}
	}
}

// matching reports whether the selectors match a device.
func (l *Allocations) matching(d *Device, wanted *Selection) matchResult {
	q := matchKey{d, wanted}
	if v, ok := l.matches[q]; ok {
		return v
	}
	v := matchResult{ok: true}
	for _, s := range wanted.Selectors {
		if v.ok, v.err = s.Matches(d); !v.ok || v.err != nil {
			break
		}
	}
	l.matches[q] = v
	return v
}

// holding returns what owner holds with a template; never nil.
func (l *Allocations) holding(owner string, kind *Template) *holding {
	if h := l.owners[owner][kind]; h != nil {
		return h
	}
	return newHolding()
}

// capacityOfOthers returns the amount of a dimension of an existing shared device that all others than owner consume.
func (l *Allocations) capacityOfOthers(owner string, e *entry, dimension string) int64 {
	sum := l.taken.capacity[e.id][dimension]
	for holder := range l.capacityOwners[e] {
		if holder == owner {
			continue
		}
		most := int64(0)
		for _, h := range l.owners[holder] {
			most = max(most, h.capacity[e][dimension])
		}
		sum = resource.AddSaturated(sum, most)
	}
	return sum
}

// countersOfOthers returns the amount of a counter that all others than owner consume.
func (l *Allocations) countersOfOthers(owner string, c counter) int64 {
	sum := l.counterUsage[c]
	for holder := range l.counterOwners[c] {
		if holder == owner {
			continue
		}
		most := int64(0)
		for _, h := range l.owners[holder] {
			most = max(most, h.counters[c])
		}
		sum = resource.AddSaturated(sum, most)
	}
	return sum
}

// Commit records a proposal for owner for the rest of the run, and releases what owner holds with other templates.
func (l *Allocations) Commit(owner string, a Proposal) {
	if len(a.claims) == 0 {
		l.Keep(owner, a.Templates)
		return
	}
	if l.owners[owner] == nil {
		l.owners[owner] = holdings{}
	}
	for _, kind := range a.Templates {
		h := l.holding(owner, kind)
		h.add(a.held[kind])
		l.owners[owner][kind] = h
		l.index(owner, a.held[kind])
	}
	for i, name := range a.claims {
		le := &provisional{owner: owner, outcomes: map[*Template]Outcome{}}
		for _, kind := range a.Templates {
			le.outcomes[kind] = a.outcomes[kind][i]
		}
		l.hold(name, le)
	}
	l.Keep(owner, a.Templates)
}

// hold records the allocation of a claim.
func (l *Allocations) hold(claim string, le *provisional) {
	if earlier := l.provisional[claim]; earlier != nil {
		delete(l.claims[earlier.owner], claim)
	}
	l.provisional[claim] = le
	l.claims[le.owner] = with(l.claims[le.owner], claim)
}

func (l *Allocations) index(owner string, h *holding) {
	for e := range h.exclusive {
		if !e.template {
			l.exclusiveOwner[e] = owner
		}
	}
	for e := range h.capacity {
		if !e.template {
			l.capacityOwners[e] = with(l.capacityOwners[e], owner)
		}
	}
	for c := range h.counters {
		l.counterOwners[c] = with(l.counterOwners[c], owner)
	}
}

func with(set map[string]bool, owner string) map[string]bool {
	if set == nil {
		set = map[string]bool{}
	}
	set[owner] = true
	return set
}

// Keep releases what owner holds with all templates but the given ones.
func (l *Allocations) Keep(owner string, kinds []*Template) {
	if l.owners[owner] == nil {
		return
	}
	for kind, h := range l.owners[owner] {
		if slices.Contains(kinds, kind) {
			continue
		}
		delete(l.owners[owner], kind)
		for e := range h.exclusive {
			if !e.template && !l.holdsWhole(owner, e) {
				delete(l.exclusiveOwner, e)
			}
		}
	}
	for claim := range l.claims[owner] {
		le := l.provisional[claim]
		for kind := range le.outcomes {
			if !slices.Contains(kinds, kind) {
				delete(le.outcomes, kind)
			}
		}
		if len(le.outcomes) == 0 {
			delete(l.provisional, claim)
			delete(l.claims[owner], claim)
		}
	}
}

// Suspended is everything that a suspended owner held.
type Suspended struct {
	held   holdings
	leases map[string]*provisional
}

// Suspend releases everything that owner holds, so that other allocations can be tried. Resume reverts it.
func (l *Allocations) Suspend(owner string) Suspended {
	s := Suspended{held: holdings{}, leases: map[string]*provisional{}}
	for kind, h := range l.owners[owner] {
		s.held[kind] = h
	}
	for claim := range l.claims[owner] {
		s.leases[claim] = &provisional{owner: owner, outcomes: maps.Clone(l.provisional[claim].outcomes)}
	}
	l.Keep(owner, nil)
	return s
}

// Resume restores what owner held. No other owner may hold any of it by now.
func (l *Allocations) Resume(owner string, s Suspended) {
	if len(s.held) == 0 {
		return
	}
	l.owners[owner] = s.held
	for _, h := range s.held {
		l.index(owner, h)
	}
	for claim, le := range s.leases {
		l.hold(claim, le)
	}
}

func (l *Allocations) holdsWhole(owner string, e *entry) bool {
	for _, h := range l.owners[owner] {
		if h.exclusive[e] {
			return true
		}
	}
	return false
}

// Templates returns those of kinds with which owner keeps all claims that it holds.
func (l *Allocations) Templates(owner string, kinds []*Template) []*Template {
	held := l.owners[owner]
	if held == nil {
		return kinds
	}
	var out []*Template
	for _, k := range kinds {
		if held[k] != nil {
			out = append(out, k)
		}
	}
	return out
}

// Outcome is the allocation result of one claim.
type Outcome struct {
	Claim  string
	Grants []Grant
	// place is where the existing devices can be used together.
	place requirement.Set
}

// Outcomes returns the results of the claims of owner if it is launched with the template, sorted by claim.
func (l *Allocations) Outcomes(owner string, kind *Template) []Outcome {
	var out []Outcome
	for claim := range l.claims[owner] {
		if o, ok := l.provisional[claim].outcomes[kind]; ok {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b Outcome) int {
		switch {
		case a.Claim < b.Claim:
			return -1
		case a.Claim > b.Claim:
			return 1
		}
		return 0
	})
	return out
}

// place returns where a claim of another owner can be used, or false if its devices belong or are bound to that owner's node.
func (le *provisional) place() (requirement.Set, bool) {
	var place requirement.Set
	for _, o := range le.outcomes {
		for _, g := range o.Grants {
			if g.Template || g.BindsToNode {
				return nil, false
			}
		}
		place = place.And(o.place)
	}
	return place, true
}

// add adds o to h.
func (h *holding) add(o *holding) {
	for e := range o.exclusive {
		h.exclusive[e] = true
	}
	for e, amounts := range o.capacity {
		if h.capacity[e] == nil {
			h.capacity[e] = map[string]int64{}
		}
		for name, amount := range amounts {
			h.capacity[e][name] = resource.AddSaturated(h.capacity[e][name], amount)
		}
	}
	for c, amount := range o.counters {
		h.counters[c] = resource.AddSaturated(h.counters[c], amount)
	}
}
