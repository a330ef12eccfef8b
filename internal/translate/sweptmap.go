package translate

import (
	"crypto/sha256"
	"maps"
	"weak"
)

// sweptMap is a map whose entries become dead. It removes dead entries whenever it has doubled in size since the last removal: it is
// at most twice as large as the number of live entries then.
type sweptMap[K comparable, V any] struct {
	entries map[K]V
	dead    func(V) bool
	// sweepAt is the size at which dead entries are removed.
	sweepAt int
}

// minSweep is the minimum of sweepAt.
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

// collected reports whether the value was garbage collected.
func collected[T any](place weak.Pointer[T]) bool { return place.Value() == nil }

// maxKey is the length from which keys are replaced by their hash: nearly all are shorter.
const maxKey = 4096

// shortKey is the key, or, for a long one, its hash: entries remain for a while after they are dead, and pods may have a megabyte of
// resource names or labels.
func shortKey(key []byte) []byte {
	if len(key) <= maxKey {
		return key
	}
	hash := sha256.Sum256(key)
	return hash[:]
}
