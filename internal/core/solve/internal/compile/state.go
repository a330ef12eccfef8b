package compile

import (
	"encoding/binary"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/bitset"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/index"
)

// State is the label state of an open node. Open nodes of one pool with the same requirements share a state, so what
// follows from it is computed once: the columns it leaves and the state that another class leads to.
type State struct {
	// Terms are the requirements, in key order; other keys are undefined.
	Terms []index.Term
	// Labels are the columns whose labels agree, Offers those with an available compatible offering, mask both.
	Labels, Offers, Mask bitset.Set
	// Kinds are the compatible offerings.
	Kinds bitset.Set
	// prices by column, at the cheapest compatible offering; nil until they are needed.
	prices []float64
	// capacity is that of the columns, where it depends on the state; nil until it is needed.
	capacity *NodeCapacity
	// byPrice are the columns of mask, cheapest first; nil until they are needed.
	byPrice []int32
	// Minimums are the keys with a demand for distinct values.
	Minimums []index.Term
}

// StateID numbers a state within its template.
type StateID int32

// NoState stands for requirements that the template cannot meet.
const NoState StateID = -1

// Get returns the requirement of a label key, Undefined if the state has none.
func (s *State) Get(key int) index.SetID {
	if i, ok := s.find(key); ok {
		return s.Terms[i].Set
	}
	return index.Undefined
}

// find returns the place of a key among the terms.
func (s *State) find(key int) (int, bool) {
	low, high := 0, len(s.Terms)
	for low < high {
		if middle := int(uint(low+high) >> 1); s.Terms[middle].Key < key {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low, low < len(s.Terms) && s.Terms[low].Key == key
}

// Without is s without the requirement of a key; only its terms are known.
func (s *State) Without(key int) *State {
	return &State{Terms: slices.DeleteFunc(slices.Clone(s.Terms), func(t index.Term) bool { return t.Key == key })}
}

// rootState is the state of an open node without pods.
func (t *Template) rootState() StateID {
	s := &State{}
	for _, have := range t.Universe.Terms(t.Pool.Requirements.And(simulatedLabels())) {
		s.put(have)
		t.Defined[have.Key] = true
	}
	s.Labels = bitset.Full(t.Columns.Len())
	return t.derive(s, t.Universe.Terms(t.Pool.Requirements))
}

func (s *State) put(have index.Term) {
	i, known := s.find(have.Key)
	if known {
		s.Terms[i] = have
		return
	}
	s.Terms = slices.Insert(s.Terms, i, have)
}

// Inert reports whether a demand has no effect on nodes of the template: absence satisfies it, and no node has the label, whatever
// other pods demand, because neither the pool nor an instance type defines it. No topology group counts by it either.
func (t *Template) Inert(want index.Term) bool {
	k := t.Universe.Keys[want.Key]
	return !k.WellKnown && !k.Counted && !t.Defined[want.Key] && k.Sets[want.Set].AllowsAbsence() && !t.Columns.Defines(want.Key)
}

// Compatible reports whether a node in state s can satisfy want: every key must be defined by the pool, or well-known, or
// satisfied by absence, and agree. An exclusion by other pods of the open node does not define a key.
func (t *Template) Compatible(s *State, want []index.Term) bool {
	for _, w := range want {
		k, have := t.Universe.Keys[w.Key], s.Get(w.Key)
		switch {
		case have != index.Undefined && !k.Join(have, w.Set).Overlap:
			return false
		case !t.Defined[w.Key] && !k.WellKnown && !k.Sets[w.Set].AllowsAbsence():
			return false
		}
	}
	return true
}

// Step is the state that follows from s when a conjunction is added, or noState.
func (t *Template) Step(from StateID, c *Conjunction) StateID {
	if to, ok := t.steps.get(from, c.Number); ok {
		return to
	}
	to := t.follow(from, c.Terms)
	t.steps.put(from, c.Number, to)
	return to
}

func (t *Template) follow(from StateID, want []index.Term) StateID {
	n, changed, ok := t.join(t.States[from], want)
	switch {
	case !ok:
		return NoState
	case len(changed) == 0:
		return from
	case !t.expressible(n, changed):
		return NoState
	}
	return t.derive(n, changed)
}

// emptyState is the state of an empty open node with the requirements of a conjunction. It is not numbered: it serves questions about
// requirements that no pod may ever bring. ok is false where nothing can be launched in it.
func emptyState(t *Template, c *Conjunction) (s *State, ok bool) {
	n, changed, ok := t.join(t.States[t.Root], c.Terms)
	if !ok {
		return nil, false
	}
	t.complete(n, changed)
	return n, !n.Mask.Empty()
}

// join adds requirements to a state, and returns those that changed; not ok where the template cannot meet them.
func (t *Template) join(s *State, want []index.Term) (n *State, changed []index.Term, ok bool) {
	if !t.Compatible(s, want) {
		return nil, nil, false
	}
	n = &State{Terms: slices.Clone(s.Terms), Labels: s.Labels}
	for _, w := range want {
		joined := w.Set
		if have := s.Get(w.Key); have != index.Undefined {
			joined = t.Universe.Keys[w.Key].Join(have, w.Set).Meet
			if joined == have {
				continue
			}
		} else if t.Inert(w) {
			continue
		}
		n.put(index.Term{Key: w.Key, Set: joined})
		changed = append(changed, index.Term{Key: w.Key, Set: joined})
	}
	return n, changed, true
}

// derive completes n after the keys in changed were set, and numbers it.
func (t *Template) derive(n *State, changed []index.Term) StateID {
	id := n.identity()
	if known, ok := t.byTerms[id]; ok {
		return known
	}
	t.complete(n, changed)
	return t.enter(n)
}

// complete finds what follows from the requirements of n after the keys in changed were set.
func (t *Template) complete(n *State, changed []index.Term) {
	for _, c := range changed {
		n.Labels = n.Labels.And(t.Columns.Matching(c))
	}
	n.Kinds = bitset.New(len(t.Columns.Kinds))
	n.Offers = bitset.New(t.Columns.Len())
	for i, k := range t.Columns.Kinds {
		if t.Compatible(n, k.Terms) {
			n.Kinds.Add(i)
			n.Offers.Or(k.Columns)
		}
	}
	n.Mask = n.Labels.And(n.Offers)
	for _, have := range n.Terms {
		if t.Universe.Keys[have.Key].Sets[have.Set].MinValues() > 0 {
			n.Minimums = append(n.Minimums, have)
		}
	}
}

// enter numbers a state that is not known.
func (t *Template) enter(s *State) StateID {
	id := s.identity()
	size := int64(stateSize + 2*len(id) + termSize*len(s.Terms) + wordSize*(len(s.Labels)+len(s.Offers)+len(s.Mask)+len(s.Kinds)))
	t.stateBytes += size
	t.Universe.Bytes += size
	t.States = append(t.States, s)
	t.byTerms[id] = StateID(len(t.States) - 1)
	return StateID(len(t.States) - 1)
}

func (s *State) identity() string {
	var b []byte
	for _, have := range s.Terms {
		b = binary.AppendVarint(binary.AppendVarint(b, int64(have.Key)), int64(have.Set))
	}
	return string(b)
}

// Prices is the cheapest price of every column for an open node in state s, in dollars per hour.
func (t *Template) Prices(s *State) []float64 {
	if s.prices == nil {
		s.prices = t.Columns.Cheapest(s.Kinds)
	}
	return s.prices
}

// Requirements is the requirements of s, without the labels that exist only inside a run.
func (t *Template) Requirements(s *State) requirement.Set { return t.AppendRequirements(nil, s) }

// AppendRequirements appends Requirements to out, which is empty.
func (t *Template) AppendRequirements(out []requirement.Requirement, s *State) requirement.Set {
	for _, have := range s.Terms {
		switch k := t.Universe.Keys[have.Key]; k.Name {
		case HostnameKey, RegisteredKey, InitializedKey:
		default:
			out = append(out, k.Sets[have.Set])
		}
	}
	return requirement.Gather(out)
}
