package solve

import (
	"encoding/binary"
	"iter"
	"math/bits"
)

// bitset is a fixed-width set of small integers. Operations on two sets need equal widths.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

func fullBitset(n int) bitset {
	b := newBitset(n)
	for i := range b {
		b[i] = ^uint64(0)
	}
	if rest := n & 63; rest > 0 {
		b[len(b)-1] >>= 64 - rest
	}
	return b
}

// bitsetSlab hands out empty sets of one width, many of them from one piece of memory.
type bitsetSlab struct {
	width int
	free  []uint64
}

// setsPerSlab is how many sets share a piece of memory.
const setsPerSlab = 64

func (s *bitsetSlab) next() bitset {
	words := (s.width + 63) / 64
	if len(s.free) < words {
		s.free = make([]uint64, words*setsPerSlab)
	}
	b := bitset(s.free[:words:words])
	s.free = s.free[words:]
	return b
}

func (b bitset) set(i int)      { b[i>>6] |= 1 << (i & 63) }
func (b bitset) clear(i int)    { b[i>>6] &^= 1 << (i & 63) }
func (b bitset) has(i int) bool { return b[i>>6]&(1<<(i&63)) != 0 }

// become makes b what o is.
func (b bitset) become(o bitset) bitset {
	copy(b, o)
	return b
}

func (b bitset) clone() bitset { return append(bitset(nil), b...) }

// add puts all of the members into b.
func (b bitset) add(members []int32) {
	for _, i := range members {
		b.set(int(i))
	}
}

// and is a new set of what both hold.
func (b bitset) and(o bitset) bitset {
	out := make(bitset, len(b))
	for i := range b {
		out[i] = b[i] & o[i]
	}
	return out
}

// intersect makes b what x and y both hold.
func (b bitset) intersect(x, y bitset) {
	for i := range b {
		b[i] = x[i] & y[i]
	}
}

// count is the number of members.
func (b bitset) count() int {
	n := 0
	for _, word := range b {
		n += bits.OnesCount64(word)
	}
	return n
}

// or adds o to b in place.
func (b bitset) or(o bitset) {
	for i := range o {
		b[i] |= o[i]
	}
}

func (b bitset) empty() bool {
	for _, w := range b {
		if w != 0 {
			return false
		}
	}
	return true
}

// meets reports whether both sets share a member.
func (b bitset) meets(o bitset) bool {
	for i := range b {
		if b[i]&o[i] != 0 {
			return true
		}
	}
	return false
}

// all yields the members in ascending order.
func (b bitset) all() iter.Seq[int] { return b.from(0) }

// from yields the members that are at least start, ascending.
func (b bitset) from(start int) iter.Seq[int] {
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

// appendText appends what is equal for sets with the same members, for use as a key.
func (b bitset) appendText(out []byte) []byte {
	for _, w := range b {
		out = binary.LittleEndian.AppendUint64(out, w)
	}
	return out
}
