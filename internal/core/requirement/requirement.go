// Package requirement is the algebra of label values: which values of one key are acceptable, and whether two such
// descriptions can be met at the same time.
//
// A Requirement is a set of strings for one label key. The set is either concrete (a finite list) or a complement (every
// value but a finite list), optionally narrowed to integers between two inclusive bounds. A Set holds at most one
// Requirement per key; a key that is absent accepts every value.
//
// Everything here is a value: no operation changes its operands. Values are sorted, so printing, comparing and hashing
// are deterministic.
//
// Source: scheduling specification, requirement algebra.
package requirement

import (
	"math"
	"slices"
	"strconv"
)

// Operator is the relation between a key and its operand values, spelled as in the Kubernetes API.
type Operator string

// The eight operators. Gte and Lte are extensions of the node selector operators; bounds are integers.
const (
	In           Operator = "In"
	NotIn        Operator = "NotIn"
	Exists       Operator = "Exists"
	DoesNotExist Operator = "DoesNotExist"
	Gt           Operator = "Gt"
	Lt           Operator = "Lt"
	Gte          Operator = "Gte"
	Lte          Operator = "Lte"
)

// Requirement is the set of acceptable values of one label key, and whether the label may be missing. The zero value
// accepts absence and nothing else (DoesNotExist).
//
// NotIn and DoesNotExist accept a missing label, all other operators require it. An intersection requires it if either side
// does: In{a} and In{b} together cannot be met, unlike DoesNotExist, although both print alike.
type Requirement struct {
	// Key is the label key, already normalised.
	Key string

	minValues  int32
	present    bool // the label is required
	complement bool
	values     []string // sorted, unique; the members, or the exclusions of a complement
	// interval is nil for no bounds: few requirements have any.
	interval *bounds
}

// bounds is an inclusive integer interval; an absent side is unlimited. It only ever belongs to a complement: a concrete
// set drops the members outside and does not keep the interval.
type bounds struct {
	hasLow, hasHigh bool
	low, high       int64
}

// New builds the requirement that one API entry describes. An In without values accepts nothing. A bound that is not an
// integer, or beyond the integers, accepts nothing: validation rejects such entries.
//
// Values that are in order already are kept and not copied, so the caller must not change the slice afterwards.
func New(key string, op Operator, values ...string) Requirement {
	r := Requirement{Key: key}
	switch op {
	case In:
		r.values = normalise(values)
		r.present = len(values) > 0
	case NotIn:
		r.complement, r.values = true, normalise(values)
	case Exists:
		r.present, r.complement = true, true
	case Gt, Gte, Lt, Lte:
		r.present = true
		b, ok := parseBound(op, values)
		if ok {
			r.complement, r.interval = true, b.interval()
		}
	case DoesNotExist:
	}
	return r
}

// MinValues is the least number of distinct values that must stay available to the launch; 0 means no demand.
func (r Requirement) MinValues() int { return int(r.minValues) }

// WithMinValues returns r demanding at least n distinct values; n ≤ 0 removes the demand.
func (r Requirement) WithMinValues(n int) Requirement {
	r.minValues = int32(min(max(n, 0), math.MaxInt32)) //nolint:gosec // not more than fits
	return r
}

// normalise is values sorted and without repetition; values itself if it is.
func normalise(values []string) []string {
	if len(values) == 0 {
		return nil
	}
	if ascending(values) {
		return slices.Clip(values)
	}
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}

func ascending(values []string) bool {
	for i := 1; i < len(values); i++ {
		if values[i-1] >= values[i] {
			return false
		}
	}
	return true
}

func parseBound(op Operator, values []string) (bounds, bool) {
	if len(values) != 1 {
		return bounds{}, false
	}
	n, err := strconv.ParseInt(values[0], 10, 64)
	if err != nil {
		return bounds{}, false
	}
	switch op {
	case Gt:
		return bounds{hasLow: true, low: n + 1}, n != math.MaxInt64
	case Gte:
		return bounds{hasLow: true, low: n}, true
	case Lt:
		return bounds{hasHigh: true, high: n - 1}, n != math.MinInt64
	default:
		return bounds{hasHigh: true, high: n}, true
	}
}

// interval is b in the form in which requirements keep it.
func (b bounds) interval() *bounds {
	if !b.any() {
		return nil
	}
	own := b
	return &own
}

// bounds are those of r.
func (r Requirement) bounds() bounds {
	if r.interval == nil {
		return bounds{}
	}
	return *r.interval
}

func (b bounds) any() bool { return b.hasLow || b.hasHigh }

// contains reports whether v is an integer inside b. Without bounds every string is inside.
func (b bounds) contains(v string) bool {
	if !b.any() {
		return true
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		return false
	}
	return (!b.hasLow || n >= b.low) && (!b.hasHigh || n <= b.high)
}

func (b bounds) intersect(o bounds) (both bounds, ok bool) {
	both = b
	if o.hasLow && (!both.hasLow || o.low > both.low) {
		both.hasLow, both.low = true, o.low
	}
	if o.hasHigh && (!both.hasHigh || o.high < both.high) {
		both.hasHigh, both.high = true, o.high
	}
	return both, !both.hasLow || !both.hasHigh || both.low <= both.high
}

// Operator is the operator that describes r best. A purely bounded requirement reads as Exists.
func (r Requirement) Operator() Operator {
	switch {
	case r.complement && len(r.values) > 0:
		return NotIn
	case r.complement:
		return Exists
	case len(r.values) > 0:
		return In
	default:
		return DoesNotExist
	}
}

// AllowsAbsence reports whether leaving the label off satisfies r.
func (r Requirement) AllowsAbsence() bool { return !r.present }

// Complement reports whether r accepts all values but Values (within its bounds), rather than Values alone.
func (r Requirement) Complement() bool { return r.complement }

// Values are the members of a concrete requirement or the exclusions of a complement, sorted. Callers must not change it.
func (r Requirement) Values() []string { return r.values }

// Low is the inclusive lower bound of a complement, if it has one.
func (r Requirement) Low() (int64, bool) { return r.bounds().low, r.bounds().hasLow }

// High is the inclusive upper bound of a complement, if it has one.
func (r Requirement) High() (int64, bool) { return r.bounds().high, r.bounds().hasHigh }

// Len is the number of acceptable values; for a complement, the largest integer less its exclusions.
func (r Requirement) Len() int64 {
	if r.complement {
		return math.MaxInt64 - int64(len(r.values))
	}
	return int64(len(r.values))
}

// Has reports whether value is acceptable.
func (r Requirement) Has(value string) bool {
	_, listed := slices.BinarySearch(r.values, value)
	return listed != r.complement && r.bounds().contains(value)
}

// InBounds reports whether value satisfies the bounds of r, ignoring members and exclusions.
func (r Requirement) InBounds(value string) bool { return r.bounds().contains(value) }

// Intersect is the requirement that accepts what both accept; MinValues is the larger of the two.
func (r Requirement) Intersect(o Requirement) Requirement {
	out := Requirement{Key: r.Key, minValues: max(r.minValues, o.minValues), present: r.present || o.present}
	b, ok := r.bounds().intersect(o.bounds())
	if !ok {
		return out
	}
	switch {
	case r.complement && o.complement:
		out.complement, out.interval = true, b.interval()
		out.values = union(r.values, o.values)
	case r.complement:
		out.values = keep(o.values, r.Has)
	default:
		out.values = keep(r.values, o.Has)
	}
	if b.any() {
		out.values = keep(out.values, b.contains)
	}
	return out
}

// union is the members of both sorted lists; one of them itself if it holds the other.
func union(a, b []string) []string {
	switch {
	case len(b) == 0 || holds(a, b):
		return a
	case len(a) == 0 || holds(b, a):
		return b
	}
	return normalise(slices.Concat(a, b))
}

// holds reports whether every member of b is one of a; both are sorted.
func holds(a, b []string) bool {
	for _, v := range b {
		if _, ok := slices.BinarySearch(a, v); !ok {
			return false
		}
	}
	return true
}

// keep is the values that are ok; values itself if all are.
func keep(values []string, ok func(string) bool) []string {
	dropped := slices.IndexFunc(values, func(v string) bool { return !ok(v) })
	if dropped < 0 {
		return values
	}
	var out []string
	out = append(out, values[:dropped]...)
	for _, v := range values[dropped+1:] {
		if ok(v) {
			out = append(out, v)
		}
	}
	return out
}

// HasIntersection reports whether some value is acceptable to both. Two complements with overlapping bounds always
// intersect, even where exclusions would leave no integer between the bounds.
func (r Requirement) HasIntersection(o Requirement) bool {
	b, ok := r.bounds().intersect(o.bounds())
	if !ok {
		return false
	}
	if r.complement && o.complement {
		return true
	}
	concrete, other := r, o
	if r.complement {
		concrete, other = o, r
	}
	return slices.ContainsFunc(concrete.values, func(v string) bool { return other.Has(v) && b.contains(v) })
}

// Equal reports whether both describe the same values of the same key, absence included, with the same demand.
func (r Requirement) Equal(o Requirement) bool {
	return r.Key == o.Key && r.minValues == o.minValues && r.present == o.present && r.complement == o.complement &&
		r.bounds() == o.bounds() && slices.Equal(r.values, o.values)
}

// Any is one acceptable value, or "" when there is none that can be written down. It is deterministic: the first member
// of a concrete requirement; otherwise the smallest non-negative integer that bounds and exclusions leave.
func (r Requirement) Any() string {
	if !r.complement {
		if len(r.values) == 0 {
			return ""
		}
		return r.values[0]
	}
	n, b := int64(0), r.bounds()
	if b.hasLow {
		n = max(n, b.low)
	}
	// At most len(values) candidates can be excluded, so one of the next len(values)+1 integers is free.
	for range len(r.values) + 1 {
		if b.hasHigh && n > b.high {
			return ""
		}
		v := strconv.FormatInt(n, 10)
		if r.Has(v) {
			return v
		}
		if n == math.MaxInt64 {
			return ""
		}
		n++
	}
	return ""
}
