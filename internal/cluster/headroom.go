package cluster

import (
	"maps"
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// Headroom is the number of virtual pods on one node, by the namespace/name of their capacity buffer.
type Headroom map[string]int

// Buffers is the part of a Store that holds the capacity buffers and the headroom of nodes.
type Buffers struct {
	store *Store
	// virtual are the virtual pods of every buffer, by namespace/name.
	virtual map[string][]*model.Pod
	// all is virtual in one list, shared with the last Snapshot; nil if it is out of date.
	all []*model.Pod
	// unknown is set until a scheduling run has placed the virtual pods.
	unknown bool
}

// Expect declares that there may be capacity buffers: until SetHeadroom is called, snapshots have HeadroomUnknown set. Call it
// before the first Snapshot.
func (b *Buffers) Expect() {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	b.unknown = true
}

// Put sets the virtual pods of a buffer, which must not be changed afterwards.
func (b *Buffers) Put(buffer string, pods []*model.Pod) {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	if slices.Equal(b.virtual[buffer], pods) {
		return
	}
	if b.virtual == nil {
		b.virtual = map[string][]*model.Pod{}
	}
	b.virtual[buffer] = pods
	b.all, b.store.changed = nil, true
}

// Drop removes a buffer and its headroom on all nodes.
func (b *Buffers) Drop(buffer string) {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	if _, known := b.virtual[buffer]; known {
		delete(b.virtual, buffer)
		b.all, b.store.changed = nil, true
	}
	for id, e := range b.store.entries {
		if e.headroom[buffer] > 0 {
			rest := maps.Clone(e.headroom)
			delete(rest, buffer)
			b.setHeadroom(id, e, rest)
		}
	}
}

// SetHeadroom replaces the headroom of all nodes, by the IDs that they have or had before their launch. A node that is not named
// has none.
func (b *Buffers) SetHeadroom(kept map[string]Headroom) {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	if b.unknown {
		b.unknown, b.store.changed = false, true
	}
	now := b.byCurrentID(kept)
	for id, e := range b.store.entries {
		b.setHeadroom(id, e, now[id])
	}
}

// AddHeadroom sets the headroom of the named nodes only.
func (b *Buffers) AddHeadroom(kept map[string]Headroom) {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	for id, h := range b.byCurrentID(kept) {
		if e, ok := b.store.entries[id]; ok {
			b.setHeadroom(id, e, h)
		}
	}
}

// byCurrentID returns kept by the current IDs of the nodes.
func (b *Buffers) byCurrentID(kept map[string]Headroom) map[string]Headroom {
	out := make(map[string]Headroom, len(kept))
	for id, h := range kept {
		if name, unlaunched := strings.CutPrefix(id, claimPrefix); unlaunched {
			id = b.store.claimEntry[name]
		}
		out[id] = h
	}
	return out
}

// KeepHeadroom sets the headroom of the node that a NodeClaim requests.
func (b *Buffers) KeepHeadroom(claim string, kept Headroom) {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	id := b.store.claimEntry[claim]
	if e, ok := b.store.entries[id]; ok {
		b.setHeadroom(id, e, kept)
	}
}

func (b *Buffers) setHeadroom(id string, e *entry, kept Headroom) {
	if !maps.Equal(e.headroom, kept) {
		e.headroom = kept
		b.store.dirty[id] = true
	}
}

// sum returns the number of virtual pods of all buffers.
func (h Headroom) sum() int {
	n := 0
	for _, pods := range h {
		n += pods
	}
	return n
}

// publish returns the virtual pods of all buffers, in the order of the buffers' names.
func (b *Buffers) publish() []*model.Pod {
	if b.all == nil {
		for _, buffer := range slices.Sorted(maps.Keys(b.virtual)) {
			b.all = append(b.all, b.virtual[buffer]...)
		}
	}
	return b.all
}
