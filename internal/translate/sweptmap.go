package translate

import (
	"maps"
	"weak"
)

// sweptMap is a map whose entries are of no use any more once somebody else is gone. It looks for these whenever it has
// doubled since it did so last: it is at most twice as large as the variety of what was alive then, and an entry costs
// nothing but its place.
type sweptMap[K comparable, V any] struct {
	entries map[K]V
	dead    func(V) bool
	// sweepAt is the size at which it looks again.
	sweepAt int
}

// minSweep are too few to look for useless ones.
const minSweep = 64

func newSweptMap[K comparable, V any](useless func(V) bool) sweptMap[K, V] {
	return sweptMap[K, V]{entries: map[K]V{}, dead: useless, sweepAt: minSweep}
}

func (x *sweptMap[K, V]) put(key K, value V) {
	if len(x.entries) >= x.sweepAt {
		maps.DeleteFunc(x.entries, func(_ K, v V) bool { return x.dead(v) })
		x.sweepAt = max(2*len(x.entries), minSweep)
	}
	x.entries[key] = value
}

// collected reports whether what was there is gone.
func collected[T any](place weak.Pointer[T]) bool { return place.Value() == nil }
