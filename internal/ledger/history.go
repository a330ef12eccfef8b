package ledger

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// History is the fleet at one moment, rebuilt from records.
type History struct {
	// At is the time of the last record that was applied.
	At time.Time
	// Complete is set once a whole list of the fleet was applied, and no start without such a list since: all NodeClaims are known then.
	Complete bool

	claims map[string]NodeClaimState
	// listed are the NodeClaims of a list that is not complete yet, by part.
	listed map[int][]NodeClaimState
}

// NodeClaims are those that exist, by name.
func (h *History) NodeClaims() []NodeClaimState {
	out := make([]NodeClaimState, 0, len(h.claims))
	for _, s := range h.claims {
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b NodeClaimState) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// Apply applies the next record. Records must come in their order.
func (h *History) Apply(r Record) {
	if h.claims == nil {
		h.claims = map[string]NodeClaimState{}
	}
	h.At = r.Time
	switch {
	case r.Start != nil:
		h.Complete, h.listed = false, nil
	case r.Fleet != nil:
		h.list(r.Fleet)
	case r.NodeClaim != nil:
		h.event(r.NodeClaim)
	}
}

// list applies one part of a list. NodeClaims that a complete list does not name are gone.
func (h *History) list(f *Fleet) {
	if f.Part == 1 || h.listed == nil {
		h.listed = map[int][]NodeClaimState{}
	}
	h.listed[f.Part] = f.NodeClaims
	if len(h.listed) < f.Parts {
		return
	}
	h.claims = map[string]NodeClaimState{}
	for _, part := range h.listed {
		for _, s := range part {
			h.claims[s.Name] = s
		}
	}
	h.Complete, h.listed = true, nil
}

func (h *History) event(e *NodeClaimEvent) {
	if e.Event == Deleted {
		delete(h.claims, e.Name)
		return
	}
	s := h.claims[e.Name]
	if s.UID != "" && e.UID != "" && s.UID != e.UID {
		s = NodeClaimState{} // another one with the same name
	}
	s.overlay(e.NodeClaimState)
	if e.Event != Disrupted {
		s.Phase = e.Event
	}
	h.claims[e.Name] = s
}

// overlay sets the fields that are known in the newer state.
func (s *NodeClaimState) overlay(newer NodeClaimState) {
	for _, field := range []struct {
		at    *string
		value string
	}{
		{&s.Name, newer.Name},
		{&s.UID, newer.UID},
		{&s.Node, newer.Node},
		{&s.NodePool, newer.NodePool},
		{&s.InstanceType, newer.InstanceType},
		{&s.Zone, newer.Zone},
		{&s.CapacityType, newer.CapacityType},
		{&s.ProviderID, newer.ProviderID},
	} {
		*field.at = cmp.Or(field.value, *field.at)
	}
	if newer.Price != nil {
		s.Price = newer.Price
	}
	if newer.Allocatable != nil {
		s.Allocatable = newer.Allocatable
	}
}

// FleetParts splits a list of NodeClaims into the records that Fleet describes, in the order of names.
func FleetParts(claims []NodeClaimState) []Fleet {
	const perPart = 500
	claims = slices.SortedFunc(slices.Values(claims), func(a, b NodeClaimState) int { return strings.Compare(a.Name, b.Name) })
	parts := max((len(claims)+perPart-1)/perPart, 1)
	out := make([]Fleet, parts)
	for i := range out {
		out[i] = Fleet{Part: i + 1, Parts: parts, NodeClaims: claims[i*perPart : min((i+1)*perPart, len(claims))]}
	}
	return out
}

// Visit calls do for every NodeClaim that exists, in no particular order.
func (h *History) Visit(do func(NodeClaimState)) {
	for _, s := range h.claims {
		do(s)
	}
}
