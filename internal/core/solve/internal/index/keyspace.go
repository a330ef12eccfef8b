// Package index interns label requirements as numbers and transposes a catalog: columns of instance types, with bitsets over
// them by label, by offering and by capacity.
package index

import (
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// KeySpace interns the requirements of one label key. Every distinct requirement gets a small number; questions about two
// numbers are answered once with the requirement algebra and remembered.
type KeySpace struct {
	Name      string
	WellKnown bool
	// Counted is set when some topology group counts by the label.
	Counted bool
	Sets    []requirement.Requirement
	// single is set for those of Sets that allow exactly one value.
	single  []bool
	ids     map[string]SetID
	pairs   map[[2]SetID]Pair
	covered map[[2]SetID]bool
	// scratch is memory for one identity, for use within one call.
	scratch []byte
	// bytes are those of the universe.
	bytes *int64
}

// Approximate sizes in bytes, beside the text that they hold.
const keySize, setSize, pairSize = 400, 250, 80

// maxPairs is the number of intersections of one key that are remembered.
const maxPairs = 1 << 16

// SetID numbers a requirement within its key. Undefined stands for a key without a requirement.
type SetID int32

// Undefined stands for a key without a requirement.
const Undefined SetID = -1

// Pair is the intersection of two requirements of one key.
type Pair struct {
	Overlap bool
	Meet    SetID
}

// Term is one key's requirement within a conjunction.
type Term struct {
	Key int
	Set SetID
}

// Universe is every label key of a problem.
type Universe struct {
	Keys  []*KeySpace
	Index map[string]int
	// Bytes is the approximate size of what is remembered about labels, and about what pods demand of them.
	Bytes     int64
	wellKnown func(string) bool
}

// NewUniverse is an empty universe; wellKnown reports whether a label key is well-known.
func NewUniverse(wellKnown func(string) bool) *Universe {
	return &Universe{Index: map[string]int{}, wellKnown: wellKnown}
}

// Key returns the number of a label key, a new one if the key is new.
func (u *Universe) Key(name string) int {
	if i, ok := u.Index[name]; ok {
		return i
	}
	i := len(u.Keys)
	u.Index[name] = i
	u.Keys = append(u.Keys, &KeySpace{
		Name:      name,
		WellKnown: u.wellKnown(name),
		ids:       map[string]SetID{},
		pairs:     map[[2]SetID]Pair{},
		covered:   map[[2]SetID]bool{},
		bytes:     &u.Bytes,
	})
	u.Bytes += int64(keySize + len(name))
	return i
}

// Terms interns a conjunction, in key order.
func (u *Universe) Terms(set requirement.Set) []Term {
	out := make([]Term, 0, len(set))
	for _, r := range set {
		k := u.Key(r.Key)
		out = append(out, Term{Key: k, Set: u.Keys[k].Intern(r)})
	}
	return out
}

// Intern returns the number of a requirement; equal requirements share one.
func (k *KeySpace) Intern(r requirement.Requirement) SetID {
	k.scratch = r.AppendIdentity(k.scratch[:0])
	if id, ok := k.ids[string(k.scratch)]; ok {
		return id
	}
	id := SetID(len(k.Sets))
	k.Sets, k.single = append(k.Sets, r), append(k.single, !r.Complement() && r.Len() == 1)
	k.ids[string(k.scratch)] = id
	*k.bytes += int64(setSize + 2*len(k.scratch))
	return id
}

// Single reports whether a requirement lists exactly one value.
func (k *KeySpace) Single(set SetID) bool { return k.single[set] }

// Lacked reports whether nodes under a requirement of the key have no such label: they have the well-known ones, and those that a requirement
// without absence defines.
func (k *KeySpace) Lacked(set SetID) bool {
	if set == Undefined {
		return !k.WellKnown
	}
	return k.Lacks(k.Sets[set])
}

// Lacks is Lacked for a requirement that may have no number.
func (k *KeySpace) Lacks(r requirement.Requirement) bool {
	return r.AllowsAbsence() && (!k.WellKnown || r.Operator() == requirement.DoesNotExist)
}

// Identity is a string that equal requirements share and different ones do not.
func Identity(r requirement.Requirement) string { return string(r.AppendIdentity(nil)) }

// Join returns the intersection of a and b, and whether it can be met.
func (k *KeySpace) Join(a, b SetID) Pair {
	if a == b {
		return Pair{Overlap: k.overlap(a, a), Meet: a}
	}
	if p, ok := k.pairs[[2]SetID{a, b}]; ok {
		return p
	}
	p := Pair{Overlap: k.overlap(a, b), Meet: k.Intern(k.Sets[a].Intersect(k.Sets[b]))}
	p.Overlap = p.Overlap && !emptySet(k.Sets[p.Meet])
	if len(k.pairs) == maxPairs {
		*k.bytes -= pairSize * maxPairs
		clear(k.pairs)
	}
	k.pairs[[2]SetID{a, b}] = p
	*k.bytes += pairSize
	return p
}

// emptySet reports whether bounds and exclusions together leave no value that a label could have.
func emptySet(r requirement.Requirement) bool {
	return r.Complement() && !r.AllowsAbsence() && r.Any() == ""
}

// overlap reports whether a and b can be met together, for callers that do not need their intersection.
func (k *KeySpace) overlap(a, b SetID) bool {
	x, y := &k.Sets[a], &k.Sets[b]
	return x.HasIntersection(*y) || x.AllowsAbsence() && y.AllowsAbsence()
}

// Covers reports whether want allows every value that have allows. For a label, have is its one value.
func (k *KeySpace) Covers(want, have SetID) bool {
	if want == have {
		return k.Sets[have].Len() > 0 || k.Sets[have].AllowsAbsence()
	}
	c, ok := k.covered[[2]SetID{want, have}]
	if !ok {
		w, h := k.Sets[want], k.Sets[have]
		c = w.Intersect(h).WithMinValues(0).Equal(h.WithMinValues(0)) && (h.Len() > 0 || w.AllowsAbsence())
		k.covered[[2]SetID{want, have}] = c
	}
	return c
}
