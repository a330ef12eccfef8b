package translate

import (
	"maps"
	"weak"
)

// passing is a map whose entries are of no use any more once somebody else is gone. It looks for these whenever it has
// doubled since it did so last: it is at most twice as large as the variety of what was alive then, and an entry costs
// nothing but its place.
type passing[K comparable, V any] struct {
	entries map[K]V
	useless func(V) bool
	// full is the size at which it looks again.
	full int
}

// fewEntries are too few to look for useless ones.
const fewEntries = 64

func newPassing[K comparable, V any](useless func(V) bool) passing[K, V] {
	return passing[K, V]{entries: map[K]V{}, useless: useless, full: fewEntries}
}

func (x *passing[K, V]) put(key K, value V) {
	if len(x.entries) >= x.full {
		maps.DeleteFunc(x.entries, func(_ K, v V) bool { return x.useless(v) })
		x.full = max(2*len(x.entries), fewEntries)
	}
	x.entries[key] = value
}

// nobodyHolds reports whether what was there is gone.
func nobodyHolds[T any](place weak.Pointer[T]) bool { return place.Value() == nil }
