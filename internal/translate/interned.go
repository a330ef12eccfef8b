package translate

import (
	"sync"
	"weak"
)

// interned holds one copy of every value in use, by its identity.
type interned[T any] struct {
	mu   sync.Mutex
	live sweptMap[string, weak.Pointer[T]]
}

func newInterned[T any]() *interned[T] {
	return &interned[T]{live: newSweptMap[string](collected[T])}
}

// of returns the live value with that identity, or the one that build returns.
func (x *interned[T]) of(id []byte, build func() *T) *T {
	id = shortKey(id)
	x.mu.Lock()
	defer x.mu.Unlock()
	if known := x.live.entries[string(id)].Value(); known != nil {
		return known
	}
	fresh := build()
	x.live.put(string(id), weak.Make(fresh))
	return fresh
}
