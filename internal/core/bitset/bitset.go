// Package bitset provides fixed-width sets of small integers.
package bitset

import (
	"encoding/binary"
	"iter"
	"math/bits"
)

// Set is a fixed-width set of small integers: word i>>6 has bit i&63 for each member i. Operations on two sets need equal
// widths, and members must be below the width.
type Set []uint64

// New is an empty set of width n.
func New(n int) Set { return make(Set, (n+63)/64) }

// Full is the set of all integers below n.
func Full(n int) Set {
	b := New(n)
	for i := range b {
		b[i] = ^uint64(0)
	}
	if rest := n & 63; rest > 0 {
		b[len(b)-1] >>= 64 - rest
	}
	return b
}

// Slab allocates empty sets of one width, many of them from one allocation.
type Slab struct {
	width int
	free  []uint64
}

// setsPerSlab is the number of sets that share an allocation.
const setsPerSlab = 64

// NewSlab allocates sets of width n.
func NewSlab(n int) Slab { return Slab{width: n} }

// Next is a new empty set.
func (s *Slab) Next() Set {
	words := (s.width + 63) / 64
	if len(s.free) < words {
		s.free = make([]uint64, words*setsPerSlab)
	}
	b := Set(s.free[:words:words])
	s.free = s.free[words:]
	return b
}

// Add puts i into the set.
func (b Set) Add(i int) { b[i>>6] |= 1 << (i & 63) }

// Remove takes i out of the set.
func (b Set) Remove(i int) { b[i>>6] &^= 1 << (i & 63) }

// Has reports whether i is a member.
func (b Set) Has(i int) bool { return b[i>>6]&(1<<(i&63)) != 0 }

// CopyFrom makes b equal to o and returns b.
func (b Set) CopyFrom(o Set) Set {
	copy(b, o)
	return b
}

// Clone is a copy.
func (b Set) Clone() Set { return append(Set(nil), b...) }

// AddAll puts all members into b.
func (b Set) AddAll(members []int32) {
	for _, i := range members {
		b.Add(int(i))
	}
}

// And is a new set, the intersection of both.
func (b Set) And(o Set) Set {
	out := make(Set, len(b))
	for i := range b {
		out[i] = b[i] & o[i]
	}
	return out
}

// Intersect makes b the intersection of x and y.
func (b Set) Intersect(x, y Set) {
	for i := range b {
		b[i] = x[i] & y[i]
	}
}

// Len is the number of members.
func (b Set) Len() int {
	n := 0
	for _, word := range b {
		n += bits.OnesCount64(word)
	}
	return n
}

// Or adds o to b in place.
func (b Set) Or(o Set) {
	for i := range o {
		b[i] |= o[i]
	}
}

// Empty reports whether there are no members.
func (b Set) Empty() bool {
	for _, w := range b {
		if w != 0 {
			return false
		}
	}
	return true
}

// Intersects reports whether both sets share a member.
func (b Set) Intersects(o Set) bool {
	for i := range b {
		if b[i]&o[i] != 0 {
			return true
		}
	}
	return false
}

// All yields the members in ascending order.
func (b Set) All() iter.Seq[int] { return b.From(0) }

// From yields the members that are at least start, ascending.
func (b Set) From(start int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for w := start >> 6; w < len(b); w++ {
			word := b[w]
			if w == start>>6 {
				word &= ^uint64(0) << (start & 63)
			}
			for ; word != 0; word &= word - 1 {
				if !yield(w<<6 + bits.TrailingZeros64(word)) {
					return
				}
			}
		}
	}
}

// AppendText appends bytes that are equal for equal sets, for use as a map key.
func (b Set) AppendText(out []byte) []byte {
	for _, w := range b {
		out = binary.LittleEndian.AppendUint64(out, w)
	}
	return out
}
