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
	// drawn is what the cluster's claims draw from counters.
	drawn map[counter]int64
	// holders are the owners that promised themselves a device of the cluster, or a part of it, or drew from a counter.
	whole    map[*entry]string
	parts    map[*entry]map[string]bool
	counters map[counter]map[string]bool
	owners   map[string]ownership
	leases   map[string]*lease
	matches  map[match]verdict
}

// ownership is what one owner holds, by the kind it may become.
type ownership map[*Template]*holding

// holding is devices, parts of shared devices and draws from counters.
type holding struct {
	whole map[*entry]bool
	parts map[*entry]map[string]int64
	drawn map[counter]int64
}

func newHolding() *holding {
	return &holding{whole: map[*entry]bool{}, parts: map[*entry]map[string]int64{}, drawn: map[counter]int64{}}
}

// lease is a claim that was allocated in this run.
type lease struct {
	owner string
	kinds map[*Template]Outcome
}

// match is a question to selectors, verdict the answer.
type match struct {
	device *Device
	wanted *Selection
}

type verdict struct {
	ok  bool
	err error
}

// NewLedger is an empty ledger over what exists and what of that is taken.
func NewLedger(v *Inventory, taken Allocated) *Ledger {
	l := &Ledger{
		inventory: v, taken: taken,
		drawn: map[counter]int64{}, whole: map[*entry]string{}, parts: map[*entry]map[string]bool{},
		counters: map[counter]map[string]bool{}, owners: map[string]ownership{}, leases: map[string]*lease{}, matches: map[match]verdict{},
	}
	for _, p := range v.pools {
		drawing := map[ID]bool{}
		for _, e := range p.entries {
			if len(e.ConsumesCounters) == 0 || drawing[e.id] || !taken.inUse(e.id) {
				continue
			}
			drawing[e.id] = true
			for _, d := range e.ConsumesCounters {
				l.drawn[counter{p, d.Set, d.Counter}] += d.Amount
			}
		}
	}
	return l
}

// matching reports whether a device is of the wanted kind.
func (l *Ledger) matching(d *Device, wanted *Selection) verdict {
	q := match{d, wanted}
	if v, ok := l.matches[q]; ok {
		return v
	}
	v := verdict{ok: true}
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

// others is what everybody but owner has of a dimension of a shared device that exists.
func (l *Ledger) others(owner string, e *entry, dimension string) int64 {
	sum := l.taken.parts[e.id][dimension]
	for holder := range l.parts[e] {
		if holder == owner {
			continue
		}
		most := int64(0)
		for _, h := range l.owners[holder] {
			most = max(most, h.parts[e][dimension])
		}
		sum += most
	}
	return sum
}

// othersDraw is what everybody but owner draws from a counter of a pool that exists.
func (l *Ledger) othersDraw(owner string, c counter) int64 {
	sum := l.drawn[c]
	for holder := range l.counters[c] {
		if holder == owner {
			continue
		}
		most := int64(0)
		for _, h := range l.owners[holder] {
			most = max(most, h.drawn[c])
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
		l.owners[owner] = ownership{}
	}
	for _, kind := range a.Templates {
		h := l.holding(owner, kind)
		h.add(a.held[kind])
		l.owners[owner][kind] = h
		l.index(owner, a.held[kind])
	}
	for i, name := range a.claims {
		le := &lease{owner: owner, kinds: map[*Template]Outcome{}}
		for _, kind := range a.Templates {
			le.kinds[kind] = a.outcomes[kind][i]
		}
		l.leases[name] = le
	}
	l.Keep(owner, a.Templates)
}

func (l *Ledger) index(owner string, h *holding) {
	for e := range h.whole {
		if !e.template {
			l.whole[e] = owner
		}
	}
	for e := range h.parts {
		if !e.template {
			l.parts[e] = with(l.parts[e], owner)
		}
	}
	for c := range h.drawn {
		l.counters[c] = with(l.counters[c], owner)
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
		for e := range h.whole {
			if !e.template && !l.holdsWhole(owner, e) {
				delete(l.whole, e)
			}
		}
	}
	for claim, le := range l.leases {
		if le.owner != owner {
			continue
		}
		for kind := range le.kinds {
			if !slices.Contains(kinds, kind) {
				delete(le.kinds, kind)
			}
		}
		if len(le.kinds) == 0 {
			delete(l.leases, claim)
		}
	}
}

// Suspended is everything that an owner held, put aside.
type Suspended struct {
	held   ownership
	leases map[string]*lease
}

// Suspend gives back everything that owner holds, so that others may be tried with it. Resume undoes it.
func (l *Ledger) Suspend(owner string) Suspended {
	s := Suspended{held: ownership{}, leases: map[string]*lease{}}
	for kind, h := range l.owners[owner] {
		s.held[kind] = h
	}
	for claim, le := range l.leases {
		if le.owner == owner {
			s.leases[claim] = &lease{owner: owner, kinds: maps.Clone(le.kinds)}
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
	maps.Copy(l.leases, s.leases)
}

func (l *Ledger) holdsWhole(owner string, e *entry) bool {
	for _, h := range l.owners[owner] {
		if h.whole[e] {
			return true
		}
	}
	return false
}

// Kinds is those of kinds that owner may still become without losing a claim it holds.
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
	for _, le := range l.leases {
		if o, ok := le.kinds[kind]; ok && le.owner == owner {
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

// promised is where a claim of another owner can be used, or false if its devices come with that owner's machine.
func (le *lease) promised() (requirement.Set, bool) {
	var place requirement.Set
	for _, o := range le.kinds {
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
	for e := range o.whole {
		h.whole[e] = true
	}
	for e, amounts := range o.parts {
		if h.parts[e] == nil {
			h.parts[e] = map[string]int64{}
		}
		for name, amount := range amounts {
			h.parts[e][name] += amount
		}
	}
	for c, amount := range o.drawn {
		h.drawn[c] += amount
	}
}
