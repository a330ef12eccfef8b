package device

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// pickAll picks every matching device for a request with allocation mode All. Devices in different places are alternatives: the
// candidate is restricted to each place in turn.
func (s *search) pickAll(p *path, r int, a *Alternative) bool {
	found := s.choices(a.Selection)
	if s.failing(found) || !s.complete(p.claim) {
		return false
	}
	for _, anchor := range s.placeAlternatives(found.list) {
		if s.interrupted() {
			return false
		}
		before := s.requirements
		if !s.narrow(anchor) {
			continue
		}
		if s.pickEach(p, r, a, found.list) {
			return true
		}
		s.requirements = before
	}
	return false
}

// pickEach picks every device of list that the candidate can use, and continues with the next request.
func (s *search) pickEach(p *path, r int, a *Alternative, list []*entry) bool {
	var undone []func()
	back := func() bool {
		for _, undo := range slices.Backward(undone) {
			undo()
		}
		return false
	}
	for _, e := range list {
		if _, large := consumedCapacity(e.Device, a.Capacity); !large {
			continue // a device that has too little capacity while unused is none of those that are requested
		}
		i := slices.IndexFunc(e.places, func(place requirement.Set) bool { return s.reaches([]requirement.Set{place}) })
		if i < 0 {
			continue
		}
		undo, ok := s.pickDevice(p, r, a, e, e.places[i])
		if !ok {
			return back()
		}
		undone = append(undone, undo)
	}
	if len(undone) == 0 || !s.request(p, r+1) {
		return back()
	}
	return true
}

// placeAlternatives returns the different places of the devices in list and, if other devices can be used everywhere, a last place
// outside all of them.
func (s *search) placeAlternatives(list []*entry) []requirement.Set {
	if s.candidate.Fixed {
		return []requirement.Set{nil}
	}
	var out []requirement.Set
	var away requirement.Set
	everywhere, plain := false, true
	for _, e := range list {
		for _, place := range e.places {
			switch {
			case len(place) == 0:
				everywhere = true
			case !slices.ContainsFunc(out, place.Equal):
				out = append(out, place)
				plain = plain && len(place) == 1 && listed(place[0])
				away = away.Add(requirement.New(place[0].Key, requirement.NotIn, place[0].Values()...))
			}
		}
	}
	switch {
	case len(out) == 0:
		out = append(out, nil)
	case everywhere && plain:
		out = append(out, away)
	}
	return out
}

// complete reports whether all pools that the candidate can use are complete and valid, so that all devices are known.
func (s *search) complete(c *Claim) bool {
	bad := s.incompletePool()
	if bad != nil {
		s.recordProblem("%s asks for all devices while resource pool %s/%s is incomplete or invalid", c.text(), bad.driver, bad.name)
	}
	return bad == nil
}

// failing reports whether the selectors of a request for all devices fail on one of them, and ends the search then.
func (s *search) failing(found choices) bool {
	for _, e := range found.list {
		if err := found.errs[e]; err != nil {
			s.abort(err)
			return true
		}
	}
	return false
}

// allKnown reports whether the devices of all requests for all devices are known. kube-scheduler takes it for an error if they are not,
// even if another alternative of a request needs none of them. The labels of a planned node are still open, and so are the pools that it
// will be able to use: its alternatives are tried one by one.
func (s *search) allKnown(c *Claim) bool {
	if !s.candidate.Fixed {
		return true
	}
	for i := range c.Requests {
		for j := range c.Requests[i].Alternatives {
			a := &c.Requests[i].Alternatives[j]
			if a.All && (!s.complete(c) || s.failing(s.choices(a.Selection))) {
				s.aborted = true
				return false
			}
		}
	}
	return true
}

// incompletePool returns a pool that the candidate can use and that is incomplete or invalid; nil if there is none.
func (s *search) incompletePool() *pool {
	for _, p := range s.pools {
		if (p.incomplete || s.invalidHere(p)) && slices.ContainsFunc(p.slices, s.reaches) {
			return p
		}
	}
	return nil
}

// invalidHere reports whether the pool is invalid for the candidate.
func (s *search) invalidHere(p *pool) bool {
	return p.invalid || slices.ContainsFunc(p.duplicates, func(t [2]*entry) bool { return s.reaches(t[0].published) && s.reaches(t[1].published) })
}
