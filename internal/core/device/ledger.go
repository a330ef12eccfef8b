package device

import (
	"maps"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// Ledger is who has which device in one run: what the cluster has given away, and what the run has promised since.
//
// A machine that is still to be launched may become of one of several kinds. It holds devices for each of them, because
// only one of the kinds will come true: what it takes of a device that exists is the most that any of the kinds takes.
// Sums are made when somebody asks, so dropping a kind gives back exactly the difference.
type Ledger struct {
	inventory *Inventory
	taken     Allocated
	// counterUsage is what the cluster's claims draw from counters.
	counterUsage map[counter]int64
	// holders are the owners that promised themselves a device of the cluster, or a part of it, or drew from a counter.
	exclusiveOwner map[*entry]string
	capacityOwners map[*entry]map[string]bool
	counterOwners  map[counter]map[string]bool
	owners         map[string]holdings
	provisional    map[string]*provisional
	matches        map[matchKey]matchResult
}

// holdings is what one owner holds, by the kind it may become.
type holdings map[*Template]*holding

// holding is devices, parts of shared devices and draws from counters.
type holding struct {
	exclusive map[*entry]bool
	capacity  map[*entry]map[string]int64
	counters  map[counter]int64
}

func newHolding() *holding {
	return &holding{exclusive: map[*entry]bool{}, capacity: map[*entry]map[string]int64{}, counters: map[counter]int64{}}
}

// provisional is a claim that was allocated in this run.
type provisional struct {
	owner    string
	outcomes map[*Template]Outcome
}

// matchKey is a question to selectors, verdict the answer.
type matchKey struct {
	device *Device
	wanted *Selection
}

type matchResult struct {
	ok  bool
	err error
}

// NewLedger is an empty ledger over what exists and what of that is taken.
func NewLedger(v *Inventory, taken Allocated) *Ledger {
	l := &Ledger{
		inventory: v, taken: taken,
		counterUsage: map[counter]int64{}, exclusiveOwner: map[*entry]string{}, capacityOwners: map[*entry]map[string]bool{},
		counterOwners: map[counter]map[string]bool{}, owners: map[string]holdings{}, provisional: map[string]*provisional{}, matches: map[matchKey]matchResult{},
	}
	for _, p := range v.pools {
		drawing := map[ID]bool{}
		for _, e := range p.entries {
			if len(e.ConsumesCounters) == 0 || drawing[e.id] || !taken.inUse(e.id) {
				continue
			}
			drawing[e.id] = true
			for _, d := range e.ConsumesCounters {
				l.counterUsage[counter{p, d.Set, d.Counter}] += d.Amount
			}
		}
	}
	return l
}

// matching reports whether a device is of the wanted kind.
func (l *Ledger) matching(d *Device, wanted *Selection) matchResult {
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

// holding is what owner holds as a kind; never nil.
func (l *Ledger) holding(owner string, kind *Template) *holding {
	if h := l.owners[owner][kind]; h != nil {
		return h
	}
	return newHolding()
}

// capacityOfOthers is what everybody but owner has of a dimension of a shared device that exists.
func (l *Ledger) capacityOfOthers(owner string, e *entry, dimension string) int64 {
	sum := l.taken.capacity[e.id][dimension]
	for holder := range l.capacityOwners[e] {
		if holder == owner {
			continue
		}
		most := int64(0)
		for _, h := range l.owners[holder] {
			most = max(most, h.capacity[e][dimension])
		}
		sum += most
	}
	return sum
}

// countersOfOthers is what everybody but owner draws from a counter of a pool that exists.
func (l *Ledger) countersOfOthers(owner string, c counter) int64 {
	sum := l.counterUsage[c]
	for holder := range l.counterOwners[c] {
		if holder == owner {
			continue
		}
		most := int64(0)
		for _, h := range l.owners[holder] {
			most = max(most, h.counters[c])
		}
		sum += most
	}
	return sum
}

// Commit makes what Allocate found for owner binding for the rest of the run. What owner holds as other kinds it gives back.
func (l *Ledger) Commit(owner string, a Proposal) {
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
		l.provisional[name] = le
	}
	l.Keep(owner, a.Templates)
}

func (l *Ledger) index(owner string, h *holding) {
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

// Keep gives back what owner holds for all kinds but those that it may still become.
func (l *Ledger) Keep(owner string, kinds []*Template) {
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
	for claim, le := range l.provisional {
		if le.owner != owner {
			continue
		}
		for kind := range le.outcomes {
			if !slices.Contains(kinds, kind) {
				delete(le.outcomes, kind)
			}
		}
		if len(le.outcomes) == 0 {
			delete(l.provisional, claim)
		}
	}
}

// Suspended is everything that an owner held, put aside.
type Suspended struct {
	held   holdings
	leases map[string]*provisional
}

// Suspend gives back everything that owner holds, so that others may be tried with it. Resume undoes it.
func (l *Ledger) Suspend(owner string) Suspended {
	s := Suspended{held: holdings{}, leases: map[string]*provisional{}}
	for kind, h := range l.owners[owner] {
		s.held[kind] = h
	}
	for claim, le := range l.provisional {
		if le.owner == owner {
			s.leases[claim] = &provisional{owner: owner, outcomes: maps.Clone(le.outcomes)}
		}
	}
	l.Keep(owner, nil)
	return s
}

// Resume makes owner hold what was put aside. Nobody else may hold any of it by now.
func (l *Ledger) Resume(owner string, s Suspended) {
	if len(s.held) == 0 {
		return
	}
	l.owners[owner] = s.held
	for _, h := range s.held {
		l.index(owner, h)
	}
	maps.Copy(l.provisional, s.leases)
}

func (l *Ledger) holdsWhole(owner string, e *entry) bool {
	for _, h := range l.owners[owner] {
		if h.exclusive[e] {
			return true
		}
	}
	return false
}

// Templates is those of kinds that owner may still become without losing a claim it holds.
func (l *Ledger) Templates(owner string, kinds []*Template) []*Template {
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

// Outcome is what one claim got.
type Outcome struct {
	Claim  string
	Grants []Grant
	// place is where the devices that exist can be used together.
	place requirement.Set
}

// Outcomes is what the claims of owner get if it becomes of the given kind, sorted by claim.
func (l *Ledger) Outcomes(owner string, kind *Template) []Outcome {
	var out []Outcome
	for _, le := range l.provisional {
		if o, ok := le.outcomes[kind]; ok && le.owner == owner {
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

// place is where a claim of another owner can be used, or false if its devices come with that owner's machine.
func (le *provisional) place() (requirement.Set, bool) {
	var place requirement.Set
	for _, o := range le.outcomes {
		for _, g := range o.Grants {
			if g.Template {
				return nil, false
			}
		}
		place = place.And(o.place)
	}
	return place, true
}

// add puts what o holds to h.
func (h *holding) add(o *holding) {
	for e := range o.exclusive {
		h.exclusive[e] = true
	}
	for e, amounts := range o.capacity {
		if h.capacity[e] == nil {
			h.capacity[e] = map[string]int64{}
		}
		for name, amount := range amounts {
			h.capacity[e][name] += amount
		}
	}
	for c, amount := range o.counters {
		h.counters[c] += amount
	}
}
