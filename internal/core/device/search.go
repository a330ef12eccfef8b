package device

import (
	"fmt"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// search searches devices for claims on a candidate.
//
// Problem: find devices for all requests of some claims on a node with one template, such that selectors, constraints, counters
// and capacity hold and the devices can be used from one place; or find that there are none.
//
// Approach: depth-first search, claim by claim, request by request, alternative by alternative, device by device. Existing
// devices come before those of the template. Every device narrows the requirements, which are restored on backtracking; if a
// device can be used in one of several places, each is tried.
//
// Invariant: held, requirements and constraints describe exactly the devices on the current path; every step reverts its changes
// before it reports failure, and keeps them when it reports success.
//
// Cost: exponential in the number of requested devices in the worst case. Devices of one request are picked in ascending order,
// which avoids permutations, and stop limits the rest.
type search struct {
	allocations *Allocations
	candidate   Candidate
	stop        func() bool
	// allocatedPlaces are the alternatives of place of each allocated claim; open are the claims to be allocated.
	allocatedPlaces [][]requirement.Set
	unallocated     []*Claim
	pools           []*pool

	// requirements is where everything picked so far can be used. It stays narrowed from kind to kind.
	requirements requirement.Set

	// The state of the current template: the requirements before the first device, what the candidate already holds with the
	// template, and what is picked.
	template *Template
	start    requirement.Set
	owned    *holding
	held     *holding
	// administered is what requests with admin access have picked: no other pod notices.
	administered *holding
	outcomes     []Outcome
	matching     map[*Selection]choices

	steps   int
	stopped bool
	// aborted is set when kube-scheduler would look no further on the node.
	aborted  bool
	problem  string
	conflict *requirement.Conflict
}

// stopInterval is the number of steps between two calls of stop.
const stopInterval = 32

// interrupted reports whether the search has to end: by stop, or because kube-scheduler would end it.
func (s *search) interrupted() bool {
	s.steps++
	if !s.stopped && s.stop != nil && s.steps%stopInterval == 0 {
		s.stopped = s.stop()
	}
	return s.stopped || s.aborted
}

// startTemplate resets the search for a template.
func (s *search) startTemplate(kind *Template) {
	s.template, s.start, s.owned = kind, s.requirements, s.allocations.holding(s.candidate.Owner, kind)
	s.held, s.administered, s.aborted = newHolding(), newHolding(), false
	s.outcomes = make([]Outcome, len(s.unallocated))
	s.matching = map[*Selection]choices{}
}

// recordProblem keeps the first permanent problem for the failure message.
func (s *search) recordProblem(format string, args ...any) {
	if s.problem == "" {
		s.problem = fmt.Sprintf(format, args...)
	}
}

// narrow restricts the candidate to a place, or reports that it cannot be there.
func (s *search) narrow(place requirement.Set) bool {
	if len(place) == 0 {
		return true
	}
	if s.candidate.Fixed {
		return covers(s.requirements, place)
	}
	if !s.requirements.Compatible(place, s.candidate.Undefined) {
		return false
	}
	narrowed := s.requirements.And(place)
	if s.candidate.Accepts != nil && !narrowed.Equal(s.requirements) && !s.candidate.Accepts(s.template, narrowed.Without(NodeKey)) {
		return false
	}
	s.requirements = narrowed
	return true
}

// reaches reports whether something in one of places can be used from where the candidate may be.
func (s *search) reaches(places []requirement.Set) bool { return s.reachesFrom(s.requirements, places) }

func (s *search) reachesFrom(here requirement.Set, places []requirement.Set) bool {
	return slices.ContainsFunc(places, func(p requirement.Set) bool {
		if s.candidate.Fixed {
			return covers(here, p)
		}
		return here.Compatible(p, s.candidate.Undefined)
	})
}

// placeAllocated narrows the candidate to places of the i-th allocated claim and all after it, and continues with unallocated ones.
func (s *search) placeAllocated(i int) bool {
	if i == len(s.allocatedPlaces) {
		return s.claim(0)
	}
	for _, place := range s.allocatedPlaces[i] {
		before := s.requirements
		if !s.narrow(place) {
			if found := before.Conflicts(place, s.candidate.Undefined); s.conflict == nil && len(found) > 0 {
				s.conflict = &found[0]
			}
			continue
		}
		if s.placeAllocated(i + 1) {
			return true
		}
		s.requirements = before
	}
	return false
}

// path is the state of the search within one claim.
type path struct {
	number      int
	claim       *Claim
	constraints []constraintState
	grants      []Grant
	place       requirement.Set
}

// conditionalLast are the pools in the order in which kube-scheduler tries them: those that may not be ready for the candidate at once
// come last.
func (s *search) conditionalLast(pools []*pool) []*pool {
	if !slices.ContainsFunc(pools, func(p *pool) bool { return p.conditional }) {
		return pools
	}
	var first, last []*pool
	for _, p := range pools {
		if slices.ContainsFunc(p.entries, func(e *entry) bool { return e.Conditional && s.reaches(e.published) }) {
			last = append(last, p)
		} else {
			first = append(first, p)
		}
	}
	return append(first, last...)
}

// claim allocates the i-th open claim and all after it.
func (s *search) claim(i int) bool {
	if i == len(s.unallocated) {
		return true
	}
	c := s.unallocated[i]
	if !s.withinMaxDevices(c) || !s.allKnown(c) {
		return false
	}
	p := &path{number: i, claim: c, constraints: make([]constraintState, len(c.Constraints))}
	return s.request(p, 0)
}

// request satisfies the r-th request of the claim and all after it.
func (s *search) request(p *path, r int) bool {
	if r == len(p.claim.Requests) {
		before := s.outcomes[p.number]
		s.outcomes[p.number] = Outcome{Claim: p.claim.Name, Grants: slices.Clone(p.grants), place: p.place}
		if s.claim(p.number + 1) {
			return true
		}
		s.outcomes[p.number] = before
		return false
	}
	request := &p.claim.Requests[r]
	for a := range request.Alternatives {
		alternative := &request.Alternatives[a]
		found := false
		if alternative.All {
			found = s.pickAll(p, r, alternative)
		} else {
			found = s.pickDevices(p, r, alternative, alternative.Count, 0)
		}
		if found || s.stopped || s.aborted {
			return found
		}
	}
	return false
}

// pickDevices picks left more devices for an alternative, from the from-th matching one on.
func (s *search) pickDevices(p *path, r int, a *Alternative, left, from int) bool {
	if left == 0 {
		return s.request(p, r+1)
	}
	found := s.choices(a.Selection)
	list := found.list
	for i := from; i < len(list) && !s.interrupted(); i++ {
		e := list[i]
		if e.pool.incomplete && !e.template || s.inUse(p, a, e) {
			continue
		}
		if err := found.errs[e]; err != nil {
			s.abort(err)
			return false
		}
		for _, place := range e.places {
			undo, ok := s.pickDevice(p, r, a, e, place)
			if !ok {
				continue
			}
			if s.pickDevices(p, r, a, left-1, i+1) {
				return true
			}
			undo()
			if s.candidate.Fixed {
				break // being in two places makes no difference
			}
		}
	}
	return false
}

// choices are the devices that a selection matches, existing ones first, and those on which its selectors fail, with the errors:
// kube-scheduler stops at these unless they are in use.
type choices struct {
	list []*entry
	errs map[*entry]error
}

// abort ends the search on an error of selectors.
func (s *search) abort(err error) {
	s.recordProblem("%s", err)
	s.aborted = true
}

// choices returns the selected devices that can be used with the template, whether they are available or not.
func (s *search) choices(wanted *Selection) choices {
	if c, ok := s.matching[wanted]; ok {
		return c
	}
	var c choices
	for _, pools := range [][]*pool{s.pools, s.template.list()} {
		for _, p := range pools {
			for _, e := range p.entries {
				if p.invalid || !s.reachesFrom(s.start, e.places) {
					continue
				}
				v := s.allocations.matching(e.Device, wanted)
				if v.err != nil {
					if c.errs == nil {
						c.errs = map[*entry]error{}
					}
					c.errs[e] = fmt.Errorf("selecting device %s: %w", e.id, v.err)
				}
				if v.ok || v.err != nil {
					c.list = append(c.list, e)
				}
			}
		}
	}
	s.matching[wanted] = c
	return c
}

// withinMaxDevices reports whether the claim needs at most MaxPerClaim devices.
func (s *search) withinMaxDevices(c *Claim) bool {
	total := 0
	for i := range c.Requests {
		least := -1
		for j := range c.Requests[i].Alternatives {
			a := &c.Requests[i].Alternatives[j]
			n := a.Count
			if a.All {
				n = s.minDevices(a)
			}
			if least < 0 || n < least {
				least = n
			}
		}
		total += max(least, 0)
	}
	if total > MaxPerClaim {
		s.recordProblem("%s asks for %d devices, more than the %d a claim may have", c.text(), total, MaxPerClaim)
	}
	return total <= MaxPerClaim
}

// minDevices returns the minimum number of devices of a request with allocation mode All: those that can be used everywhere.
func (s *search) minDevices(a *Alternative) int {
	n := 0
	for _, e := range s.choices(a.Selection).list {
		if s.candidate.Fixed || slices.ContainsFunc(e.places, func(p requirement.Set) bool { return len(p) == 0 }) {
			n++
		}
	}
	return n
}
