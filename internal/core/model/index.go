package model

import (
	"encoding/binary"
	"iter"
	"maps"
	"slices"
	"strings"
)

// Index is an immutable map from string keys, split into shards so that a new version shares every unchanged shard.
//
// Problem: a snapshot of 5 000 nodes and 150 000 pods must cost microseconds. Approach: a fixed spine of shards, each a
// small map; an Editor copies a shard the first time it writes to it after Publish. Invariant: a shard reachable from a
// published Index is never written again. Cost: publishing copies the spine (4 KiB); the first write to a shard after that
// copies the shard, 1/512 of the entries.
//
// The zero Index is empty.
type Index[V any] struct {
	spine *spine[V]
	size  int
}

const shards = 512

type spine[V any] [shards]*shard[V]

// shard holds up to maxInList entries in a list, which takes a quarter of the memory of a map, and more in a table. One of the
// two is nil.
type shard[V any] struct {
	owner uint64 // the Editor generation that may write to it in place
	list  []pair[V]
	table map[string]V
}

type pair[V any] struct {
	key   string
	value V
}

// maxInList is the number of entries that a list can hold. With one more, the shard changes to a table for good.
const maxInList = 24

func (s *shard[V]) find(key string) int {
	return slices.IndexFunc(s.list, func(p pair[V]) bool { return p.key == key })
}

func (s *shard[V]) get(key string) (v V, ok bool) {
	if s.table != nil {
		v, ok = s.table[key]
		return v, ok
	}
	if i := s.find(key); i >= 0 {
		return s.list[i].value, true
	}
	return v, false
}

// put sets key to v and reports whether the key is new.
func (s *shard[V]) put(key string, v V) bool {
	if s.table != nil {
		before := len(s.table)
		s.table[key] = v
		return len(s.table) > before
	}
	if i := s.find(key); i >= 0 {
		s.list[i].value = v
		return false
	}
	if len(s.list) < maxInList {
		s.list = append(s.list, pair[V]{key, v})
		return true
	}
	s.table = make(map[string]V, 2*maxInList)
	for _, p := range s.list {
		s.table[p.key] = p.value
	}
	s.list, s.table[key] = nil, v
	return true
}

func (s *shard[V]) remove(key string) {
	delete(s.table, key)
	if i := s.find(key); i >= 0 {
		s.list = slices.Delete(s.list, i, i+1)
	}
}

func (s *shard[V]) fork(owner uint64) *shard[V] {
	return &shard[V]{owner: owner, list: slices.Clone(s.list), table: maps.Clone(s.table)}
}

// shardOf is FNV-1a. Which keys share a shard never influences an observable order.
func shardOf(key string) int {
	const offset, prime = 2166136261, 16777619
	h := uint32(offset)
	for i := range len(key) {
		h = (h ^ uint32(key[i])) * prime
	}
	return int(h % shards)
}

// Get returns the value of key.
func (x Index[V]) Get(key string) (V, bool) {
	var zero V
	if x.spine == nil {
		return zero, false
	}
	s := x.spine[shardOf(key)]
	if s == nil {
		return zero, false
	}
	return s.get(key)
}

// Len is the number of entries.
func (x Index[V]) Len() int { return x.size }

// All yields the entries in no particular order. Sort them before any decision.
func (x Index[V]) All() iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		if x.spine == nil {
			return
		}
		for _, s := range x.spine {
			if s == nil {
				continue
			}
			for _, p := range s.list {
				if !yield(p.key, p.value) {
					return
				}
			}
			for k, v := range s.table {
				if !yield(k, v) {
					return
				}
			}
		}
	}
}

// Sorted returns the values in key order. Keys of one kind mostly have a common beginning, so that the next bytes decide nearly all
// comparisons: by these, as a number, entries are sorted byte by byte, and only those with equal numbers are compared.
func (x Index[V]) Sorted() []V {
	list := make([]entry[V], 0, x.size)
	common := -1
	for key, value := range x.All() {
		list = append(list, entry[V]{key: key, value: value})
		if common < 0 {
			common = len(key)
		}
		common = commonPrefix(list[0].key[:common], key)
	}
	for i := range list {
		list[i].next = number(list[i].key[common:])
	}
	list = sortByNext(list)
	for start := 0; start < len(list); {
		end := start + 1
		for end < len(list) && list[end].next == list[start].next {
			end++
		}
		if end > start+1 {
			slices.SortFunc(list[start:end], func(a, b entry[V]) int { return strings.Compare(a.key, b.key) })
		}
		start = end
	}
	out := make([]V, len(list))
	for i := range list {
		out[i] = list[i].value
	}
	return out
}

// entry is an entry of an Index while it is sorted; next is what follows the common beginning of the keys.
type entry[V any] struct {
	next  uint64
	key   string
	value V
}

// number is the first eight bytes of a text as a number that orders as they do.
func number(text string) uint64 {
	var next [8]byte
	copy(next[:], text)
	return binary.BigEndian.Uint64(next[:])
}

// sortByNext is the list in the order of next: sorted by each byte that differs, the last one first, each time without changing the order of
// equal ones.
func sortByNext[V any](list []entry[V]) []entry[V] {
	differ := uint64(0)
	for i := range list {
		differ |= list[i].next ^ list[0].next
	}
	spare := make([]entry[V], len(list))
	for shift := 0; shift < 64; shift += 8 {
		if differ>>shift&0xff == 0 {
			continue
		}
		var at [256]int
		for i := range list {
			at[list[i].next>>shift&0xff]++
		}
		sum := 0
		for b, n := range at {
			at[b], sum = sum, sum+n
		}
		for i := range list {
			b := list[i].next >> shift & 0xff
			spare[at[b]] = list[i]
			at[b]++
		}
		list, spare = spare, list
	}
	return list
}

// commonPrefix is the length of the beginning that two texts have in common.
func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// Editor builds successive versions of an Index. It is not safe for concurrent use; the versions it publishes are.
type Editor[V any] struct {
	current    Index[V]
	generation uint64
	shared     bool // the spine belongs to a published version
}

// Publish returns the current content as an immutable version.
func (e *Editor[V]) Publish() Index[V] {
	e.shared = true
	e.generation++
	return e.current
}

// Get returns the value of key in the current content.
func (e *Editor[V]) Get(key string) (V, bool) { return e.current.Get(key) }

// Len is the number of entries in the current content.
func (e *Editor[V]) Len() int { return e.current.size }

// All yields the current content in no particular order. It must not be changed meanwhile.
func (e *Editor[V]) All() iter.Seq2[string, V] { return e.current.All() }

// Put sets key to v.
func (e *Editor[V]) Put(key string, v V) {
	if e.writable(key).put(key, v) {
		e.current.size++
	}
}

// Delete removes key.
func (e *Editor[V]) Delete(key string) {
	if _, ok := e.current.Get(key); !ok {
		return
	}
	e.writable(key).remove(key)
	e.current.size--
}

func (e *Editor[V]) writable(key string) *shard[V] {
	switch {
	case e.current.spine == nil:
		e.current.spine = &spine[V]{}
	case e.shared:
		fork := *e.current.spine
		e.current.spine = &fork
	}
	e.shared = false
	slot := &e.current.spine[shardOf(key)]
	switch s := *slot; {
	case s == nil:
		*slot = &shard[V]{owner: e.generation}
	case s.owner != e.generation:
		*slot = s.fork(e.generation)
	}
	return *slot
}
