package resource

import (
	"math"
	"math/bits"
	"slices"
)

// Vector holds one amount per table index. Missing entries are zero. Arithmetic saturates instead of overflowing, so an
// excessive request stays excessive.
type Vector []int64

// At is the amount at index i.
func (v Vector) At(i int) int64 {
	if i < len(v) {
		return v[i]
	}
	return 0
}

// Set is v with the amount at i replaced, growing it when needed. The receiver may be changed.
func (v Vector) Set(i int, amount int64) Vector {
	if i >= len(v) {
		v = append(v, make([]int64, i+1-len(v))...)
	}
	v[i] = amount
	return v
}

// Clone is an independent copy of v.
func (v Vector) Clone() Vector { return slices.Clone(v) }

// Add is a new vector v + o.
func (v Vector) Add(o Vector) Vector {
	out := make(Vector, max(len(v), len(o)))
	copy(out, v)
	return out.Accumulate(o)
}

// Accumulate is v + o, for sums of many vectors: the receiver may be changed, and grows when needed.
func (v Vector) Accumulate(o Vector) Vector {
	if len(o) > len(v) {
		v = append(v, make(Vector, len(o)-len(v))...)
	}
	for i, amount := range o {
		v[i] = AddSaturated(v[i], amount)
	}
	return v
}

// Sub is a new vector v − o.
func (v Vector) Sub(o Vector) Vector {
	out := make(Vector, max(len(v), len(o)))
	copy(out, v)
	for i, amount := range o {
		out[i] = SubSaturated(out[i], amount)
	}
	return out
}

// Max is the entrywise maximum.
func (v Vector) Max(o Vector) Vector {
	return combine(v, o, func(a, b int64) int64 { return max(a, b) })
}

// Min is the entrywise minimum; an entry missing on either side counts as zero.
func (v Vector) Min(o Vector) Vector {
	return combine(v, o, func(a, b int64) int64 { return min(a, b) })
}

// Floor is v with every entry raised to at least low.
func (v Vector) Floor(low int64) Vector {
	out := v.Clone()
	for i := range out {
		out[i] = max(out[i], low)
	}
	return out
}

// Times is v multiplied by n.
func (v Vector) Times(n int64) Vector {
	out := v.Clone()
	for i, a := range out {
		out[i] = MulSaturated(a, n)
	}
	return out
}

// IsZero reports whether every amount is zero.
func (v Vector) IsZero() bool {
	for _, a := range v {
		if a != 0 {
			return false
		}
	}
	return true
}

// Fits reports whether capacity has every amount of v. Only resources that v requests matter: insufficient capacity of
// others does not.
func (v Vector) Fits(capacity Vector) bool {
	for i, a := range v {
		if a > 0 && a > capacity.At(i) {
			return false
		}
	}
	return true
}

// Count returns how many times v fits into capacity, at most limit.
func (v Vector) Count(capacity Vector, limit int) int {
	n := int64(limit)
	for i, a := range v {
		if a > 0 {
			n = min(n, max(capacity.At(i), 0)/a)
		}
	}
	return int(n)
}

func combine(a, b Vector, f func(a, b int64) int64) Vector {
	out := make(Vector, max(len(a), len(b)))
	for i := range out {
		out[i] = f(a.At(i), b.At(i))
	}
	return out
}

// AddSaturated is a + b, clamped to the range of int64.
func AddSaturated(a, b int64) int64 {
	sum := a + b
	switch {
	case a > 0 && b > 0 && sum < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && sum >= 0:
		return math.MinInt64
	}
	return sum
}

// SubSaturated is a − b, clamped to the range of int64.
func SubSaturated(a, b int64) int64 {
	diff := a - b
	switch {
	case a >= 0 && b < 0 && diff < 0:
		return math.MaxInt64
	case a < 0 && b > 0 && diff >= 0:
		return math.MinInt64
	}
	return diff
}

// MulSaturated is a·n for n ≥ 0, clamped to the range of int64.
func MulSaturated(a, n int64) int64 {
	abs := uint64(max(a, -a))
	hi, lo := bits.Mul64(abs, uint64(n))
	if hi != 0 || lo > math.MaxInt64 {
		if a < 0 {
			return math.MinInt64
		}
		return math.MaxInt64
	}
	if a < 0 {
		return -int64(lo)
	}
	return int64(lo)
}
