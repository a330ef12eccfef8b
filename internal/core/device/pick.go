package device

import (
	"maps"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

// pickDevice adds a device to the path, or reports that it is not available there. undo removes it again.
func (s *search) pickDevice(p *path, r int, a *Alternative, e *entry, place requirement.Set) (undo func(), ok bool) {
	if len(p.grants) >= MaxPerClaim || len(e.pool.duplicates) > 0 && s.invalidHere(e.pool) {
		return nil, false
	}
	consumed, ok := consumedCapacity(e.Device, a.Capacity)
	if !ok || s.inUse(p, a, e) || !s.countersLeft(e) || !s.allocations.tolerated(e, a.Selection) {
		return nil, false
	}
	agreements, ok := s.constrain(p, r, a, e)
	if !ok {
		// kube-scheduler takes a request for all devices that contradicts a constraint for an error, and tries no other choice of devices.
		s.aborted = s.aborted || a.All && s.candidate.Fixed
		return nil, false
	}
	if !s.capacityLeft(e, consumed) {
		return nil, false
	}
	requirements, earlier, placed := s.requirements, p.constraints, p.place
	if !s.narrow(place) {
		return nil, false
	}
	grant := Grant{Request: a.Name, Device: e.id, Template: e.template, BindsToNode: e.BindsToNode}
	if e.Shared && !a.AdminAccess {
		grant.Consumed = consumed
	}
	p.constraints, p.grants = agreements, append(p.grants, grant)
	p.place = p.place.And(place)
	h := s.held
	if a.AdminAccess {
		h = s.administered
	}
	s.take(h, e, consumed, 1)
	return func() {
		s.take(h, e, consumed, -1)
		p.grants = p.grants[:len(p.grants)-1]
		p.constraints, p.place, s.requirements = earlier, placed, requirements
	}, true
}

// constrain returns the state of the constraints with e.
func (s *search) constrain(p *path, r int, a *Alternative, e *entry) ([]constraintState, bool) {
	out := p.constraints
	for i, c := range p.claim.Constraints {
		if !c.binds(&p.claim.Requests[r], a) {
			continue
		}
		next, ok := p.constraints[i].with(c, e.values(e.pool.driver, c.Attribute), s.template.binding(c.Attribute, e.id))
		if !ok {
			return nil, false
		}
		if &out[0] == &p.constraints[0] {
			out = slices.Clone(out)
		}
		out[i] = next
	}
	return out, true
}

// inUse reports whether e is allocated as a whole. Admin access shares devices with all other pods; as in kube-scheduler, its device is
// not available to other requests of the same pod, nor twice to its claim.
func (s *search) inUse(p *path, a *Alternative, e *entry) bool {
	switch {
	case e.Shared:
		return false
	case a.AdminAccess:
		return slices.ContainsFunc(p.grants, func(g Grant) bool { return g.Device == e.id })
	}
	holder, held := s.allocations.exclusiveOwner[e]
	return s.administered.exclusive[e] || s.owned.exclusive[e] || s.held.exclusive[e] ||
		!e.template && (s.allocations.taken.exclusive[e.id] || held && holder != s.candidate.Owner)
}

// capacityLeft reports whether what is consumed of a shared device is available for the current template.
func (s *search) capacityLeft(e *entry, consumed []Amount) bool {
	if !e.Shared {
		return true
	}
	for i, c := range e.Capacity {
		used := resource.AddSaturated(s.owned.capacity[e][c.Name], s.held.capacity[e][c.Name])
		used = resource.AddSaturated(used, s.administered.capacity[e][c.Name])
		if !e.template {
			used = resource.AddSaturated(used, s.allocations.capacityOfOthers(s.candidate.Owner, e, c.Name))
		}
		if resource.SubSaturated(c.Total, used) < consumed[i].Value {
			return false
		}
	}
	return true
}

// countersLeft reports whether the counters that e consumes are available for the current template. While any counter of a pool is
// overdrawn, kube-scheduler allocates no device that consumes counters, whichever it consumes.
func (s *search) countersLeft(e *entry) bool {
	if s.countersConsumed(e) || len(e.ConsumesCounters) == 0 {
		return true
	}
	if !e.template && s.allocations.overdrawn[e.pool] {
		return false
	}
	for _, d := range e.ConsumesCounters {
		c := counter{e.pool, d.Set, d.Counter}
		used := resource.AddSaturated(resource.AddSaturated(s.owned.counters[c], s.held.counters[c]), s.administered.counters[c])
		if !e.template {
			used = resource.AddSaturated(used, s.allocations.countersOfOthers(s.candidate.Owner, c))
		}
		if resource.SubSaturated(e.pool.counters[c], used) < d.Amount {
			return false
		}
	}
	return true
}

// countersConsumed reports whether a shared device is in use, so that its counters are consumed already.
func (s *search) countersConsumed(e *entry) bool {
	return e.Shared && (s.held.capacity[e] != nil || s.administered.capacity[e] != nil || s.owned.capacity[e] != nil || !e.template && s.allocations.taken.inUse(e.id))
}

// take takes e for h, or releases it with a sign of -1.
func (s *search) take(h *holding, e *entry, consumed []Amount, sign int64) {
	switch {
	case !e.Shared && sign > 0:
		h.exclusive[e] = true
	case !e.Shared:
		delete(h.exclusive, e)
	}
	paid := s.countersConsumed(e)
	if e.Shared {
		h.share(e, consumed, sign)
		if sign < 0 {
			paid = s.countersConsumed(e)
		}
	}
	if paid {
		return
	}
	for _, d := range e.ConsumesCounters {
		c := counter{e.pool, d.Set, d.Counter}
		if h.counters[c] += sign * d.Amount; h.counters[c] == 0 {
			delete(h.counters, c)
		}
	}
}

// share takes, or with a sign of -1 releases, a part of a shared device. The entry exists as long as the device is allocated,
// even with no capacity.
func (h *holding) share(e *entry, consumed []Amount, sign int64) {
	parts := maps.Clone(h.capacity[e])
	if parts == nil {
		parts = map[string]int64{}
	}
	parts[useCount] += sign
	for _, a := range consumed {
		parts[a.Name] += sign * a.Value
	}
	if parts[useCount] == 0 {
		delete(h.capacity, e)
		return
	}
	h.capacity[e] = parts
}

// useCount is the pseudo-dimension that counts the allocations of a shared device. No dimension has an empty name.
const useCount = ""
