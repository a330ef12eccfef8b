package device

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// pickAll picks every matching device for a request with allocation mode All. Devices in different places are alternatives: the
// candidate is restricted to each place in turn.
func (s *search) pickAll(p *path, r int, a *Alternative) bool {
	found := s.choices(a.Selection)
	if found.err != nil {
		return false
	}
	if bad := s.incompletePool(); bad != nil {
		s.recordProblem("resourceclaim %q asks for all devices while resource pool %s/%s is incomplete or invalid", p.claim.Name, bad.driver, bad.name)
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
	return p.invalid || slices.ContainsFunc(p.duplicates, func(t [2]*entry) bool { return s.reaches(t[0].places) && s.reaches(t[1].places) })
}
