package solve

import (
	"encoding/binary"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/bitset"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// state is what a claim says about labels. Claims of one pool that say the same share a state, so what follows from it is
// worked out once: the columns it leaves and the state that another class leads to.
type state struct {
	// sets by key; keys beyond the end are undefined.
	sets []setID
	// labels are the columns whose labels agree, offers those with an available compatible offering, mask both.
	labels, offers, mask bitset.Set
	// kinds are the compatible offerings.
	kinds bitset.Set
	// prices by column, at the cheapest compatible offering; nil until somebody asks.
	prices []float64
	// byPrice are the columns of mask, cheapest first; nil until somebody asks.
	byPrice []int32
	// next by conjunction number: the state that follows, refused, or 0 for not asked yet (stored plus two).
	next []stateID
	// minimums are the keys with a demand for distinct values.
	minimums []term
}

// stateID numbers a state within its template.
type stateID int32

const noState stateID = -1

func (s *state) get(key int) setID {
	if key < len(s.sets) {
		return s.sets[key]
	}
	return undefined
}

// rootState is the state of a claim with no pods.
func (t *template) rootState() stateID {
	s := &state{}
	for _, have := range t.u.terms(t.pool.Requirements.And(simulatedLabels())) {
		s.put(have)
		t.defined[have.key] = true
	}
	s.labels = bitset.Full(t.columns.len())
	return t.derive(s, t.u.terms(t.pool.Requirements))
}

func (s *state) put(have term) {
	for len(s.sets) <= have.key {
		s.sets = append(s.sets, undefined)
	}
	s.sets[have.key] = have.set
}

// compatible reports whether a machine in state s can satisfy want: every key must be defined by the pool, or well-known,
// or satisfied by absence, and agree. What other pods of the claim exclude defines nothing.
func (t *template) compatible(s *state, want []term) bool {
	for _, w := range want {
		k, have := t.u.keys[w.key], s.get(w.key)
		switch {
		case have != undefined && !k.join(have, w.set).overlap:
			return false
		case !t.defined[w.key] && !k.wellKnown && !k.sets[w.set].AllowsAbsence():
			return false
		}
	}
	return true
}

// step is the state that follows from s when the conjunction numbered n joins, or refused.
func (t *template) step(from stateID, c *conjunction) stateID {
	s := t.states[from]
	if c.number < len(s.next) {
		if to := s.next[c.number]; to != 0 {
			return to - 2
		}
	} else {
		s.next = append(s.next, make([]stateID, c.number+1-len(s.next))...)
	}
	to := t.follow(from, c.terms)
	s.next[c.number] = to + 2
	return to
}

func (t *template) follow(from stateID, want []term) stateID {
	s := t.states[from]
	if !t.compatible(s, want) {
		return noState
	}
	n := &state{sets: slices.Clone(s.sets), labels: s.labels}
	var changed []term
	for _, w := range want {
		joined := w.set
		if have := s.get(w.key); have != undefined {
			joined = t.u.keys[w.key].join(have, w.set).meet
			if joined == have {
				continue
			}
		}
		n.put(term{w.key, joined})
		changed = append(changed, term{w.key, joined})
	}
	if len(changed) == 0 {
		return from
	}
	return t.derive(n, changed)
}

// derive completes n after the keys in changed were set, and numbers it.
func (t *template) derive(n *state, changed []term) stateID {
	id := n.identity()
	if known, ok := t.byTerms[id]; ok {
		return known
	}
	for _, c := range changed {
		n.labels = n.labels.And(t.columns.matching(c))
	}
	n.kinds = bitset.New(len(t.columns.kinds))
	n.offers = bitset.New(t.columns.len())
	for i, k := range t.columns.kinds {
		if t.compatible(n, k.terms) {
			n.kinds.Add(i)
			n.offers.Or(k.columns)
		}
	}
	n.mask = n.labels.And(n.offers)
	for key, set := range n.sets {
		if set != undefined && t.u.keys[key].sets[set].MinValues() > 0 {
			n.minimums = append(n.minimums, term{key, set})
		}
	}
	t.states = append(t.states, n)
	t.byTerms[id] = stateID(len(t.states) - 1)
	return stateID(len(t.states) - 1)
}

func (s *state) identity() string {
	var b []byte
	for _, set := range s.sets {
		b = binary.AppendVarint(b, int64(set))
	}
	return string(b)
}

// prices is the cheapest price of every column for a claim in state s, in dollars an hour.
func (t *template) prices(s *state) []float64 {
	if s.prices == nil {
		s.prices = t.columns.cheapest(s.kinds)
	}
	return s.prices
}

// requirements is what s says, without the labels that exist only inside a run.
func (t *template) requirements(s *state) requirement.Set { return t.appendRequirements(nil, s) }

// appendRequirements is requirements in the place of out, which is empty.
func (t *template) appendRequirements(out []requirement.Requirement, s *state) requirement.Set {
	for key, set := range s.sets {
		if set == undefined {
			continue
		}
		switch name := t.u.keys[key].name; name {
		case hostnameKey, registeredKey, initializedKey:
		default:
			out = append(out, t.u.keys[key].sets[set])
		}
	}
	return requirement.Gather(out)
}
