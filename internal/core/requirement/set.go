package requirement

import (
	"slices"
	"strings"
)

// Set is a conjunction of requirements, at most one per key, sorted by key. The nil Set accepts everything.
type Set []Requirement

// NewSet is the conjunction of reqs; entries of one key are intersected.
func NewSet(reqs ...Requirement) Set { return Gather(slices.Clone(reqs)) }

// Gather is NewSet without the copy: it takes reqs over, and the caller must not use it again.
func Gather(reqs []Requirement) Set {
	if len(reqs) == 0 {
		return Set{}
	}
	byKey := func(a, b Requirement) int { return strings.Compare(a.Key, b.Key) }
	if !slices.IsSortedFunc(reqs, byKey) {
		slices.SortStableFunc(reqs, byKey)
	}
	last := 0
	for _, r := range reqs[1:] {
		if reqs[last].Key == r.Key {
			reqs[last] = reqs[last].Intersect(r)
			continue
		}
		last++
		reqs[last] = r
	}
	return slices.Clip(reqs[:last+1])
}

// Find is the index of the requirement of key, if there is one.
func (s Set) Find(key string) (int, bool) {
	return slices.BinarySearchFunc(s, key, func(r Requirement, key string) int { return strings.Compare(r.Key, key) })
}

// Has reports whether s has a requirement of key.
func (s Set) Has(key string) bool {
	_, ok := s.Find(key)
	return ok
}

// Get is the requirement of key; a key without a requirement reads as Exists.
func (s Set) Get(key string) Requirement {
	if i, ok := s.Find(key); ok {
		return s[i]
	}
	return Requirement{Key: key, complement: true}
}

// Add is s with r intersected into it. s is unchanged.
func (s Set) Add(r Requirement) Set {
	i, ok := s.Find(r.Key)
	out := slices.Clone(s)
	if ok {
		out[i] = out[i].Intersect(r)
		return out
	}
	return slices.Insert(out, i, r)
}

// And is the conjunction of both sets. It is one of them when the other has nothing to add.
func (s Set) And(o Set) Set {
	switch {
	case len(o) == 0:
		return s
	case len(s) == 0:
		return o
	}
	out := make(Set, 0, len(s)+len(o))
	for len(s) > 0 && len(o) > 0 {
		switch order := strings.Compare(s[0].Key, o[0].Key); {
		case order < 0:
			out, s = append(out, s[0]), s[1:]
		case order > 0:
			out, o = append(out, o[0]), o[1:]
		default:
			out, s, o = append(out, s[0].Intersect(o[0])), s[1:], o[1:]
		}
	}
	return append(append(out, s...), o...)
}

// Replace is s with the requirement of r.Key exchanged for r.
func (s Set) Replace(r Requirement) Set { return s.Without(r.Key).Add(r) }

// Without is s without the requirements of the given keys.
func (s Set) Without(keys ...string) Set {
	return slices.DeleteFunc(slices.Clone(s), func(r Requirement) bool { return slices.Contains(keys, r.Key) })
}

// Equal reports whether both sets hold the same requirements.
func (s Set) Equal(o Set) bool { return slices.EqualFunc(s, o, Requirement.Equal) }

// Labels is the set that a labelled object describes: every label is a single-valued requirement. more are those on its fields.
func Labels(labels map[string]string, more ...Requirement) Set {
	out := make([]Requirement, 0, len(labels)+len(more))
	for k, v := range labels {
		out = append(out, New(k, In, v))
	}
	return Gather(append(out, more...))
}

// Conflict is a key on which two sets are incompatible. Undefined means that the describing side does not define the key;
// Have is then empty.
type Conflict struct {
	Key       string
	Undefined bool
	Want      Requirement
	Have      Requirement
}

// Strict allows no undefined key. It applies to existing nodes.
func Strict(string) bool { return false }

// Compatible reports whether a node described by s can satisfy want. A key that want requires and s does not define is
// a conflict, unless want can be met by its absence or allowUndefined(key) holds.
func (s Set) Compatible(want Set, allowUndefined func(key string) bool) bool {
	for _, w := range want {
		i, defined := s.Find(w.Key)
		switch {
		case defined && !overlap(s[i], w):
			return false
		case !defined && !w.AllowsAbsence() && !allowUndefined(w.Key):
			return false
		}
	}
	return true
}

// Intersects reports whether the requirements of every key in both sets have a value in common.
func (s Set) Intersects(o Set) bool {
	return s.Compatible(o, func(string) bool { return true })
}

// Conflicts lists the keys for which Compatible is false: undefined keys first, then contradicting ones, each in key order.
func (s Set) Conflicts(want Set, allowUndefined func(key string) bool) []Conflict {
	var undefined, contradicting []Conflict
	for _, w := range want {
		i, defined := s.Find(w.Key)
		switch {
		case defined && !overlap(s[i], w):
			contradicting = append(contradicting, Conflict{Key: w.Key, Want: w, Have: s[i]})
		case !defined && !w.AllowsAbsence() && !allowUndefined(w.Key):
			undefined = append(undefined, Conflict{Key: w.Key, Undefined: true, Want: w})
		}
	}
	return append(undefined, contradicting...)
}

// overlap is HasIntersection, except that two requirements which absence satisfies agree on absence.
func overlap(a, b Requirement) bool {
	return a.HasIntersection(b) || a.AllowsAbsence() && b.AllowsAbsence()
}

// String renders the requirements in key order, comma separated, without the placeholder hostname.
func (s Set) String() string {
	parts := make([]string, 0, len(s))
	for _, r := range s {
		if r.Key != HostnameLabel {
			parts = append(parts, r.String())
		}
	}
	return strings.Join(parts, ", ")
}
