package device

import (
	"fmt"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// Candidate is an existing or planned node that has to provide devices.
type Candidate struct {
	// Owner is the candidate's name in the allocations.
	Owner string
	// Node is the name of the node; empty for planned nodes.
	Node string
	// Requirements are those of the candidate and the pod.
	Requirements requirement.Set
	// Fixed is set for existing nodes: their labels cannot be narrowed.
	Fixed bool
	// Templates are the sets of devices of the possible instance types, in order of trial; nil is the empty set.
	Templates []*Template
	// Undefined reports which labels may be required without being defined; nil means none.
	Undefined func(key string) bool
	// Accepts, if set, reports whether an instance type with the template is left under narrower requirements.
	Accepts func(kind *Template, narrowed requirement.Set) bool
}

// Proposal is an allocation for a candidate. It has no effect until it is committed.
type Proposal struct {
	// Requirements are the candidate's, narrowed to where all devices can be used.
	Requirements requirement.Set
	// Templates are those that provide all devices, in the candidate's order.
	Templates []*Template

	// claims are the allocated claims, outcomes their devices by template, in that order, and held the sum.
	claims   []string
	outcomes map[*Template][]Outcome
	held     map[*Template]*holding
}

// Grants are the devices of a proposal if the candidate becomes of a template.
func (p *Proposal) Grants(kind *Template) []Grant {
	var out []Grant
	for _, o := range p.outcomes[kind] {
		out = append(out, o.Grants...)
	}
	return out
}

// Failure is why a candidate cannot provide the devices of claims.
type Failure struct {
	// Text is the message.
	Text string
	// Conflict is set when the candidate's requirements exclude the place of the devices.
	Conflict *requirement.Conflict
	// Timeout is set when the search was stopped.
	Timeout bool
}

const noTemplateFits = "no instance type can satisfy the allocation"

// Allocate searches devices for claims on a candidate, template by template. Requirements that one template adds hold for the
// next, so that the remaining templates never need different places. stop is polled during the search; nil never stops it. The
// The allocations are not changed.
func (l *Allocations) Allocate(c Candidate, claims []*Claim, stop func() bool) (Proposal, *Failure) {
	if c.Undefined == nil {
		c.Undefined = requirement.Strict
	}
	start := c.Requirements.Without(NodeKey)
	if c.Node == "" {
		start = start.Add(requirement.New(NodeKey, requirement.DoesNotExist))
	} else {
		start = start.And(OnNode(c.Node))
	}
	s := &search{allocations: l, candidate: c, stop: stop, requirements: start}
	s.pools = s.conditionalLast(l.inventory.at(c.Node))
	kinds, failure := s.splitClaims(claims)
	if failure != nil {
		return Proposal{}, failure
	}
	out := Proposal{outcomes: map[*Template][]Outcome{}, held: map[*Template]*holding{}}
	for _, claim := range s.unallocated {
		out.claims = append(out.claims, claim.Name)
	}
	if len(s.unallocated) == 0 {
		// Nothing depends on the template: one search is enough for all.
		if !s.placeAllocated(0) {
			return Proposal{}, s.failure()
		}
		out.Requirements, out.Templates = s.requirements.Without(NodeKey), kinds
		return out, nil
	}
	for _, kind := range kinds {
		s.startTemplate(kind)
		if !s.placeAllocated(0) {
			if s.stopped {
				return Proposal{}, s.failure()
			}
			continue
		}
		out.Templates = append(out.Templates, kind)
		out.outcomes[kind], out.held[kind] = s.outcomes, s.held
	}
	if len(out.Templates) == 0 {
		return Proposal{}, s.failure()
	}
	out.Requirements = s.requirements.Without(NodeKey)
	return out, nil
}

// splitClaims splits claims into allocated ones, with their places, and unallocated ones. It returns the templates that are left.
func (s *search) splitClaims(claims []*Claim) ([]*Template, *Failure) {
	kinds := s.candidate.Templates
	for _, claim := range claims {
		le := s.allocations.provisional[claim.Name]
		switch {
		case slices.ContainsFunc(s.unallocated, func(c *Claim) bool { return c.Name == claim.Name }):
		case claim.Allocation != nil:
			if len(claim.Allocation.Places) > 0 {
				s.allocatedPlaces = append(s.allocatedPlaces, claim.Allocation.Places)
			}
		case le != nil && le.owner == s.candidate.Owner:
			kinds = slices.DeleteFunc(slices.Clone(kinds), func(k *Template) bool {
				_, ok := le.outcomes[k]
				return !ok
			})
		case le != nil:
			place, ok := le.place()
			if !ok {
				return nil, &Failure{Text: fmt.Sprintf("the devices of %s come with another node", claim.text())}
			}
			s.allocatedPlaces = append(s.allocatedPlaces, []requirement.Set{place})
		case claim.Problem != "":
			return nil, &Failure{Text: claim.Problem}
		default:
			s.unallocated = append(s.unallocated, claim)
		}
	}
	if len(kinds) == 0 {
		return nil, &Failure{Text: noTemplateFits}
	}
	return kinds, nil
}

// failure returns the failure of a search without any template left.
func (s *search) failure() *Failure {
	switch {
	case s.stopped:
		return &Failure{Text: "the search for devices took too long", Timeout: true}
	case s.problem != "":
		return &Failure{Text: s.problem}
	default:
		return &Failure{Text: noTemplateFits, Conflict: s.conflict}
	}
}
