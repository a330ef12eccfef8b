package device

import (
	"maps"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// pick takes a device into the path, or reports that it cannot be had there. undo takes it out again.
func (s *search) pick(p *path, r int, a *Alternative, e *entry, place requirement.Set) (undo func(), ok bool) {
	if len(p.grants) >= MaxPerClaim || len(e.pool.twins) > 0 && s.contradicts(e.pool) {
		return nil, false
	}
	agreements, ok := s.agree(p, r, a, e)
	if !ok {
		return nil, false
	}
	consumed, ok := demand(e.Device, a.Capacity)
	if !ok || !a.AdminAccess && !s.available(e, consumed) {
		return nil, false
	}
	requirements, earlier, placed := s.requirements, p.agreements, p.place
	if !s.narrow(place) {
		return nil, false
	}
	grant := Grant{Request: a.Name, Device: e.id, Template: e.template}
	if e.Shared && !a.AdminAccess {
		grant.Consumed = consumed
	}
	p.agreements, p.grants = agreements, append(p.grants, grant)
	p.place = p.place.And(place)
	if !a.AdminAccess {
		s.hold(e, consumed, 1)
	}
	return func() {
		if !a.AdminAccess {
			s.hold(e, consumed, -1)
		}
		p.grants = p.grants[:len(p.grants)-1]
		p.agreements, p.place, s.requirements = earlier, placed, requirements
	}, true
}

// agree is the state of the constraints with e.
func (s *search) agree(p *path, r int, a *Alternative, e *entry) ([]agreement, bool) {
	out := p.agreements
	for i, c := range p.claim.Constraints {
		if !c.binds(&p.claim.Requests[r], a) {
			continue
		}
		next, ok := p.agreements[i].with(e.values(e.pool.driver, c.Attribute), s.kind.binding(c.Attribute, e.id))
		if !ok {
			return nil, false
		}
		if &out[0] == &p.agreements[0] {
			out = slices.Clone(out)
		}
		out[i] = next
	}
	return out, true
}

// available reports whether e, its capacity and its counters are still to be had for the kind under trial.
func (s *search) available(e *entry, consumed []Amount) bool {
	l, owner := s.ledger, s.candidate.Owner
	if e.Shared {
		for i, c := range e.Capacity {
			used := s.mine.parts[e][c.Name] + s.held.parts[e][c.Name]
			if !e.template {
				used += l.others(owner, e, c.Name)
			}
			if c.Total-used < consumed[i].Value {
				return false
			}
		}
	} else {
		holder, held := l.whole[e]
		if s.mine.whole[e] || s.held.whole[e] || !e.template && (l.taken.whole[e.id] || held && holder != owner) {
			return false
		}
	}
	if s.drawsAlready(e) {
		return true
	}
	for _, d := range e.ConsumesCounters {
		c := counter{e.pool, d.Set, d.Counter}
		used := s.mine.drawn[c] + s.held.drawn[c]
		if !e.template {
			used += l.othersDraw(owner, c)
		}
		if e.pool.counters[c]-used < d.Amount {
			return false
		}
	}
	return true
}

// drawsAlready reports whether a shared device is in use, so that its counters are paid for.
func (s *search) drawsAlready(e *entry) bool {
	return e.Shared && (s.held.parts[e] != nil || s.mine.parts[e] != nil || !e.template && s.ledger.taken.inUse(e.id))
}

// hold takes e, or with a sign of -1 gives it back.
func (s *search) hold(e *entry, consumed []Amount, sign int64) {
	h := s.held
	switch {
	case !e.Shared && sign > 0:
		h.whole[e] = true
	case !e.Shared:
		delete(h.whole, e)
	}
	paid := s.drawsAlready(e)
	if e.Shared {
		h.share(e, consumed, sign)
		if sign < 0 {
			paid = s.drawsAlready(e)
		}
	}
	if paid {
		return
	}
	for _, d := range e.ConsumesCounters {
		c := counter{e.pool, d.Set, d.Counter}
		if h.drawn[c] += sign * d.Amount; h.drawn[c] == 0 {
			delete(h.drawn, c)
		}
	}
}

// share takes, or with a sign of -1 gives back, a part of a shared device. The entry is there as long as anybody has a part,
// however small.
func (h *holding) share(e *entry, consumed []Amount, sign int64) {
	parts := maps.Clone(h.parts[e])
	if parts == nil {
		parts = map[string]int64{}
	}
	parts[uses] += sign
	for _, a := range consumed {
		parts[a.Name] += sign * a.Value
	}
	if parts[uses] == 0 {
		delete(h.parts, e)
		return
	}
	h.parts[e] = parts
}

// uses counts, among the dimensions of a shared device, how often it was taken. No dimension is called that.
const uses = ""
