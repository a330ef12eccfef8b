package translate

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"sync"
	"weak"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// shapes holds one copy of every shape in use, by a hash of its content. Of shapes with equal hashes only the last one is found
// and shared.
type shapes struct {
	mu   sync.Mutex
	seed maphash.Seed
	live sweptMap[uint64, weak.Pointer[model.Shape]]
}

func newShapes() *shapes {
	return &shapes{seed: maphash.MakeSeed(), live: newSweptMap[uint64](collected[model.Shape])}
}

// shared returns the live shape equal to s, or s.
func (x *shapes) shared(s *model.Shape) *model.Shape {
	var space, other [keySpace]byte
	id := appendShape(space[:0], s)
	hash := maphash.Bytes(x.seed, id)
	x.mu.Lock()
	defer x.mu.Unlock()
	if known := x.live.entries[hash].Value(); known != nil && bytes.Equal(appendShape(other[:0], known), id) {
		return known
	}
	x.live.put(hash, weak.Make(s))
	return s
}

// appendShape appends bytes that are equal exactly for shapes with equal content. Every list and string is preceded by its
// length.
func appendShape(b []byte, s *model.Shape) []byte {
	b = binary.AppendUvarint(b, uint64(len(s.Requests)))
	for _, amount := range s.Requests {
		b = binary.AppendVarint(b, amount)
	}
	b = binary.AppendUvarint(b, uint64(len(s.Unoffered)))
	for _, r := range s.Unoffered {
		b = binary.AppendVarint(appendString(b, r.Name), r.Amount)
	}
	b = binary.AppendUvarint(b, uint64(len(s.Extended)))
	for _, r := range s.Extended {
		b = binary.AppendUvarint(appendString(b, r.Name), uint64(len(r.Counts)))
		for _, count := range r.Counts {
			b = binary.AppendVarint(b, int64(count))
		}
	}
	b = appendSet(b, s.Selector)
	b = binary.AppendUvarint(b, uint64(len(s.Required)))
	for _, set := range s.Required {
		b = appendSet(b, set)
	}
	b = binary.AppendUvarint(b, uint64(len(s.Preferred)))
	for _, p := range s.Preferred {
		b = appendSet(binary.AppendVarint(b, int64(p.Weight)), p.Terms)
	}
	b = binary.AppendUvarint(b, uint64(len(s.HostPorts)))
	for _, p := range s.HostPorts {
		b = appendString(appendString(binary.AppendVarint(b, int64(p.Port)), p.IP), p.Protocol)
	}
	b = binary.AppendVarint(b, int64(s.Priority))
	b = appendTopology(b, s)
	b = binary.AppendUvarint(b, uint64(len(s.VolumeTopology)))
	for _, set := range s.VolumeTopology {
		b = appendSet(b, set)
	}
	b = appendStrings(b, s.Drivers)
	b = appendStrings(appendStrings(b, s.NodeFeatures), s.InstalledDrivers)
	for _, t := range s.Tolerations {
		exists := byte(0)
		if t.Exists {
			exists = 1
		}
		b = appendString(appendString(appendString(appendString(append(b, exists), t.Key), t.Value), string(t.Effect)), string(t.Compare))
	}
	return b
}

func appendTopology(b []byte, s *model.Shape) []byte {
	b = binary.AppendUvarint(b, uint64(len(s.Spreads)))
	for i := range s.Spreads {
		c := &s.Spreads[i]
		b = appendString(appendString(b, c.Key), c.Namespace)
		b = binary.AppendVarint(binary.AppendVarint(b, int64(c.MaxSkew)), int64(c.MinDomains))
		b = appendFlags(b, c.Soft, c.AnyAffinity, c.HonorTaints)
		b = appendString(b, c.Selector.Identity())
	}
	b = binary.AppendUvarint(b, uint64(len(s.Affinities)))
	for i := range s.Affinities {
		a := &s.Affinities[i]
		b = binary.AppendVarint(appendFlags(appendString(b, a.Key), a.Anti), int64(a.Weight))
		b = appendString(appendString(b, a.Selector.Identity()), a.NamespaceSelector.Identity())
		b = appendStrings(b, a.Namespaces)
	}
	return b
}

func appendFlags(b []byte, flags ...bool) []byte {
	for _, set := range flags {
		if set {
			b = append(b, 1)
		} else {
			b = append(b, 0)
		}
	}
	return b
}

func appendSet(b []byte, set requirement.Set) []byte {
	b = binary.AppendUvarint(b, uint64(len(set)))
	for _, r := range set {
		b = appendString(b, r.Key)
		low, hasLow := r.Low()
		high, hasHigh := r.High()
		b = appendBound(appendBound(b, low, hasLow), high, hasHigh)
		b = appendString(b, string(r.Operator()))
		if r.AllowsAbsence() {
			b = append(b, '?')
		} else {
			b = append(b, '!')
		}
		b = appendStrings(b, r.Values())
	}
	return b
}

func appendBound(b []byte, n int64, present bool) []byte {
	if !present {
		return append(b, 0)
	}
	return binary.AppendVarint(append(b, 1), n)
}

func appendStrings(b []byte, list []string) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, s := range list {
		b = appendString(b, s)
	}
	return b
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}
