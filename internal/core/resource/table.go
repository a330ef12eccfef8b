// Package resource turns named amounts of resources into vectors of int64 that can be added and compared without
// looking at names.
//
// A Table gives every resource name a permanent index: a vector made earlier stays valid when more names are added, and
// an index beyond the end of a vector reads as zero. CPU is counted in thousandths of a core, everything else in whole
// base units (bytes, devices, pods).
//
// A Table has the resources that something offers: a node, an instance type, or the limits of a NodePool. A pod may name any
// number of others. It fits nowhere with these, so that they need no entry each: one entry says how many there are, and which
// ones is kept as a list of Requests.
package resource

import (
	"slices"
	"sync"
)

// The resources every table knows, at these indexes.
const (
	CPU = iota
	Memory
	Pods
	EphemeralStorage
	Nodes
	// Unoffered is the number of requested resources that nothing offers. Capacities never have any.
	Unoffered
)

// Table interns resource names. It is safe for concurrent use; indexes are never reused or moved.
type Table struct {
	mu    sync.RWMutex
	names []string
	index map[string]int
}

// NewTable is a table that knows the well-known resources.
func NewTable() *Table {
	t := &Table{index: map[string]int{}}
	for _, name := range []string{"cpu", "memory", "pods", "ephemeral-storage", "nodes"} {
		t.intern(name)
	}
	t.names = append(t.names, "") // Unoffered, which no resource can be called
	return t
}

// wellKnown is the index of a resource that every table knows.
func wellKnown(name string) (int, bool) {
	switch name {
	case "cpu":
		return CPU, true
	case "memory":
		return Memory, true
	case "pods":
		return Pods, true
	case "ephemeral-storage":
		return EphemeralStorage, true
	case "nodes":
		return Nodes, true
	}
	return 0, false
}

// Index is the index of name, which is added when it is new.
func (t *Table) Index(name string) int {
	if i, ok := wellKnown(name); ok {
		return i
	}
	return t.intern(name)
}

func (t *Table) intern(name string) int {
	t.mu.RLock()
	i, ok := t.index[name]
	t.mu.RUnlock()
	if ok {
		return i
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if i, ok := t.index[name]; ok {
		return i
	}
	i = len(t.names)
	t.names = append(t.names, name)
	t.index[name] = i
	return i
}

// Lookup is the index of name, if it is known.
func (t *Table) Lookup(name string) (int, bool) {
	if i, ok := wellKnown(name); ok {
		return i, true
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	i, ok := t.index[name]
	return i, ok
}

// Names are the known names in index order; that of Unoffered is empty.
func (t *Table) Names() []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.Clip(t.names)
}

// Len is the number of indexes in use.
func (t *Table) Len() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.names)
}
