package solve

import (
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// keyspace interns what is said about one label key. Every distinct requirement gets a small number; questions about two
// numbers are answered once with the requirement algebra and remembered.
type keyspace struct {
	name      string
	wellKnown bool
	sets      []requirement.Requirement
	ids       map[string]setID
	pairs     map[[2]setID]pair
	covered   map[[2]setID]bool
	// scratch is room for one identity between two lines of the same function.
	scratch []byte
}

// setID numbers a requirement within its key. undefined stands for a key about which nothing is said.
type setID int32

const undefined setID = -1

// pair is what two requirements of one key make together.
type pair struct {
	overlap bool
	meet    setID
}

// term is one key's requirement within a conjunction.
type term struct {
	key int
	set setID
}

// universe is every label key of a problem.
type universe struct {
	keys      []*keyspace
	index     map[string]int
	wellKnown func(string) bool
}

func newUniverse(wellKnown func(string) bool) *universe {
	return &universe{index: map[string]int{}, wellKnown: wellKnown}
}

func (u *universe) key(name string) int {
	if i, ok := u.index[name]; ok {
		return i
	}
	i := len(u.keys)
	u.index[name] = i
	u.keys = append(u.keys, &keyspace{
		name:      name,
		wellKnown: u.wellKnown(name),
		ids:       map[string]setID{},
		pairs:     map[[2]setID]pair{},
		covered:   map[[2]setID]bool{},
	})
	return i
}

// terms interns a conjunction, in key order.
func (u *universe) terms(set requirement.Set) []term {
	out := make([]term, 0, len(set))
	for _, r := range set {
		k := u.key(r.Key)
		out = append(out, term{key: k, set: u.keys[k].intern(r)})
	}
	return out
}

func (k *keyspace) intern(r requirement.Requirement) setID {
	k.scratch = r.AppendIdentity(k.scratch[:0])
	if id, ok := k.ids[string(k.scratch)]; ok {
		return id
	}
	id := setID(len(k.sets))
	k.sets = append(k.sets, r)
	k.ids[string(k.scratch)] = id
	return id
}

// identity is a string that equal requirements share and different ones do not.
func identity(r requirement.Requirement) string { return string(r.AppendIdentity(nil)) }

// join answers whether a and b can be met together, and what they make.
func (k *keyspace) join(a, b setID) pair {
	if a == b {
		return pair{overlap: k.overlap(a, a), meet: a}
	}
	if p, ok := k.pairs[[2]setID{a, b}]; ok {
		return p
	}
	p := pair{overlap: k.overlap(a, b), meet: k.intern(k.sets[a].Intersect(k.sets[b]))}
	p.overlap = p.overlap && !emptySet(k.sets[p.meet])
	k.pairs[[2]setID{a, b}] = p
	return p
}

// hollow reports whether bounds and exclusions together leave no value that a label could have.
func emptySet(r requirement.Requirement) bool {
	return r.Complement() && !r.AllowsAbsence() && r.Any() == ""
}

// overlap answers whether a and b can be met together, for those who ask once and do not want to know what they make.
func (k *keyspace) overlap(a, b setID) bool {
	x, y := &k.sets[a], &k.sets[b]
	return x.HasIntersection(*y) || x.AllowsAbsence() && y.AllowsAbsence()
}

// covers answers whether every value that have allows is allowed by want. For a label, have is the one value it carries.
func (k *keyspace) covers(want, have setID) bool {
	if want == have {
		return k.sets[have].Len() > 0 || k.sets[have].AllowsAbsence()
	}
	c, ok := k.covered[[2]setID{want, have}]
	if !ok {
		w, h := k.sets[want], k.sets[have]
		c = w.Intersect(h).WithMinValues(0).Equal(h.WithMinValues(0)) && (h.Len() > 0 || w.AllowsAbsence())
		k.covered[[2]setID{want, have}] = c
	}
	return c
}
