package cluster

import (
	"maps"
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// Headroom is how many virtual pods of each buffer, by namespace/name, have their place on one machine.
type Headroom map[string]int

// headroom is the part of the picture that capacity buffers make up.
type headroom struct {
	// virtual are the virtual pods of every buffer, by namespace/name.
	virtual map[string][]*model.Pod
	// all is virtual in one list, shared with the last Snapshot; nil when it has to be made.
	all []*model.Pod
	// unsettled is set while it is not known yet which machines keep headroom.
	unknown bool
}

// ExpectBuffers says that there may be capacity buffers: until SetHeadroom is called it is not known which machines keep
// room for them. Call it before the first Snapshot.
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

// DropBuffer forgets a buffer. No machine keeps room for it any more.
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

// SetHeadroom replaces what is known about the room that machines keep, by the IDs that the machines have or had before
// their launch. A machine that is not named keeps none.
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

// AddHeadroom is SetHeadroom for an answer that is not complete: a machine that is not named keeps what it kept.
func (s *Store) AddHeadroom(kept map[string]Headroom) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, h := range s.byCurrentID(kept) {
		if e, ok := s.entries[id]; ok {
			s.setHeadroom(id, e, h)
		}
	}
}

// present is kept by the IDs that the machines have now.
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

// KeepHeadroom says that the machine of a NodeClaim was asked for to keep room.
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

// sum is how many virtual pods there are in all.
func (h Headroom) sum() int {
	n := 0
	for _, pods := range h {
		n += pods
	}
	return n
}

// publish is the virtual pods of all buffers, in the order of the buffers' names.
func (h *headroom) publish() []*model.Pod {
	if h.all == nil {
		for _, buffer := range slices.Sorted(maps.Keys(h.virtual)) {
			h.all = append(h.all, h.virtual[buffer]...)
		}
	}
	return h.all
}
