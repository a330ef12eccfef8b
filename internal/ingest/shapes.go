package ingest

import (
	"encoding/binary"
	"runtime"
	"sync"
	"weak"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// shapes keeps one copy of every shape in use. Shapes that no pod holds any more are forgotten with the next collection,
// so the table is as large as the variety of live pods.
type shapes struct {
	mu   *sync.Mutex
	live map[string]weak.Pointer[model.Shape]
}

func newShapes() shapes {
	return shapes{mu: &sync.Mutex{}, live: map[string]weak.Pointer[model.Shape]{}}
}

// intern is the shape equal to s that others hold already, or s.
func (x shapes) intern(s *model.Shape) *model.Shape {
	id := identity(s)
	x.mu.Lock()
	defer x.mu.Unlock()
	if known := x.live[id].Value(); known != nil {
		return known
	}
	x.live[id] = weak.Make(s)
	runtime.AddCleanup(s, x.forget, id)
	return s
}

func (x shapes) forget(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.live[id].Value() == nil {
		delete(x.live, id)
	}
}

// identity is equal for shapes with equal content and different otherwise. Every list is preceded by its length, every
// string by its own.
func identity(s *model.Shape) string {
	b := make([]byte, 0, 128)
	b = binary.AppendUvarint(b, uint64(len(s.Requests)))
	for _, amount := range s.Requests {
		b = binary.AppendVarint(b, amount)
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
	for _, t := range s.Tolerations {
		exists := byte(0)
		if t.Exists {
			exists = 1
		}
		b = appendString(appendString(appendString(append(b, exists), t.Key), t.Value), string(t.Effect))
	}
	return string(b)
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
		b = binary.AppendUvarint(b, uint64(len(r.Values())))
		for _, v := range r.Values() {
			b = appendString(b, v)
		}
	}
	return b
}

func appendBound(b []byte, n int64, present bool) []byte {
	if !present {
		return append(b, 0)
	}
	return binary.AppendVarint(append(b, 1), n)
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}
