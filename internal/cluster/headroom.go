package cluster

import (
	"maps"
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// Headroom is the number of virtual pods on one node, by the namespace/name of their capacity buffer.
type Headroom map[string]int

// headroom is the state of capacity buffers.
type headroom struct {
	// virtual are the virtual pods of every buffer, by namespace/name.
	virtual map[string][]*model.Pod
	// all is virtual in one list, shared with the last Snapshot; nil if it is out of date.
	all []*model.Pod
	// unknown is set until a scheduling run has placed the virtual pods.
	unknown bool
}

// ExpectBuffers declares that there may be capacity buffers: until SetHeadroom is called, snapshots have HeadroomUnknown set.
// Call it before the first Snapshot.
func (s *Store) ExpectBuffers() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.headroom.unknown = true
}

// PutBuffer sets the virtual pods of a buffer, which must not be changed afterwards.
func (s *Store) PutBuffer(buffer string, pods []*model.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Equal(s.headroom.virtual[buffer], pods) {
		return
	}
	if s.headroom.virtual == nil {
		s.headroom.virtual = map[string][]*model.Pod{}
	}
	s.headroom.virtual[buffer] = pods
	s.headroom.all, s.changed = nil, true
}

// DropBuffer removes a buffer and its headroom on all nodes.
func (s *Store) DropBuffer(buffer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.headroom.virtual[buffer]; known {
		delete(s.headroom.virtual, buffer)
		s.headroom.all, s.changed = nil, true
	}
	for id, e := range s.entries {
		if e.headroom[buffer] > 0 {
			rest := maps.Clone(e.headroom)
			delete(rest, buffer)
			s.setHeadroom(id, e, rest)
		}
	}
}

// SetHeadroom replaces the headroom of all nodes, by the IDs that they have or had before their launch. A node that is not named
// has none.
func (s *Store) SetHeadroom(kept map[string]Headroom) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.headroom.unknown {
		s.headroom.unknown, s.changed = false, true
	}
	now := s.byCurrentID(kept)
	for id, e := range s.entries {
		s.setHeadroom(id, e, now[id])
	}
}

// AddHeadroom sets the headroom of the named nodes only.
func (s *Store) AddHeadroom(kept map[string]Headroom) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, h := range s.byCurrentID(kept) {
		if e, ok := s.entries[id]; ok {
			s.setHeadroom(id, e, h)
		}
	}
}

// byCurrentID returns kept by the current IDs of the nodes.
func (s *Store) byCurrentID(kept map[string]Headroom) map[string]Headroom {
	out := make(map[string]Headroom, len(kept))
	for id, h := range kept {
		if name, unlaunched := strings.CutPrefix(id, claimPrefix); unlaunched {
			id = s.claimEntry[name]
		}
		out[id] = h
	}
	return out
}

// KeepHeadroom sets the headroom of the node that a NodeClaim requests.
func (s *Store) KeepHeadroom(claim string, kept Headroom) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := s.claimEntry[claim]
	if e, ok := s.entries[id]; ok {
		s.setHeadroom(id, e, kept)
	}
}

func (s *Store) setHeadroom(id string, e *entry, kept Headroom) {
	if !maps.Equal(e.headroom, kept) {
		e.headroom = kept
		s.dirty[id] = true
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
func (h *headroom) publish() []*model.Pod {
	if h.all == nil {
		for _, buffer := range slices.Sorted(maps.Keys(h.virtual)) {
			h.all = append(h.all, h.virtual[buffer]...)
		}
	}
	return h.all
}
