package ingest

import (
	"runtime"
	"sync"
	"weak"
)

// interned keeps one copy of every value in use, by what it says. Values that nobody holds any more are forgotten with the
// next collection, so the table is as large as the variety of what is alive.
type interned[T any] struct {
	mu   *sync.Mutex
	live map[string]weak.Pointer[T]
}

func newInterned[T any]() interned[T] {
	return interned[T]{mu: &sync.Mutex{}, live: map[string]weak.Pointer[T]{}}
}

// of is the value of that identity that others hold already, or the one that build makes.
func (x interned[T]) of(id []byte, build func() *T) *T {
	x.mu.Lock()
	defer x.mu.Unlock()
	if known := x.live[string(id)].Value(); known != nil {
		return known
	}
	fresh, key := build(), string(id)
	x.live[key] = weak.Make(fresh)
	runtime.AddCleanup(fresh, x.forget, key)
	return fresh
}

func (x interned[T]) forget(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.live[id].Value() == nil {
		delete(x.live, id)
	}
}
