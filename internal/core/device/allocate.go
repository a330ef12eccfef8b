package device

import (
	"fmt"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// Candidate is a node, or a machine that is still to be launched, that is asked to provide devices.
type Candidate struct {
	// Owner is the candidate's name in the ledger.
	Owner string
	// Node is the name of the node; empty for machines without one.
	Node string
	// Requirements is what is known about the labels, with what the pod adds.
	Requirements requirement.Set
	// Fixed candidates are what they are: their labels cannot be narrowed.
	Fixed bool
	// Templates are the sets of devices that the candidate may come with, in order of trial; nil is the empty set.
	Templates []*Template
	// Undefined tells which labels need not be defined to be demanded; nil means none.
	Undefined func(key string) bool
	// Accepts, if set, tells whether a machine of a kind can be had at all under narrower requirements.
	Accepts func(kind *Template, narrowed requirement.Set) bool
}

// Proposal is what a candidate can provide. It binds nobody until it is committed.
type Proposal struct {
	// Requirements are the candidate's, narrowed to where all devices can be used.
	Requirements requirement.Set
	// Templates are those that provide everything, in the candidate's order.
	Templates []*Template

	// claims are those that were allocated, outcomes what each got by kind, in that order, and held their sum.
	claims   []string
	outcomes map[*Template][]Outcome
	held     map[*Template]*holding
}

// Failure says why a candidate cannot provide what claims want.
type Failure struct {
	// Text is what went wrong.
	Text string
	// Conflict is set when devices cannot be used from where the candidate is.
	Conflict *requirement.Conflict
	// Timeout is set when the search was stopped.
	Timeout bool
}

const noTemplateFits = "no instance type can satisfy the allocation"

// Allocate looks for devices for claims on a candidate, kind by kind. What one kind says about the place of the machine
// holds for the next, so that the kinds that are left never need different places. stop is asked now and then; nil never
// stops. The ledger stays as it is.
func (l *Ledger) Allocate(c Candidate, claims []*Claim, stop func() bool) (Proposal, *Failure) {
	if c.Undefined == nil {
		c.Undefined = requirement.Strict
	}
	start := c.Requirements.Without(NodeKey)
	if c.Node == "" {
		start = start.Add(requirement.New(NodeKey, requirement.DoesNotExist))
	} else {
		start = start.And(OnNode(c.Node))
	}
	s := &search{ledger: l, candidate: c, stop: stop, requirements: start, pools: l.inventory.at(c.Node)}
	kinds, failure := s.splitClaims(claims)
	if failure != nil {
		return Proposal{}, failure
	}
	out := Proposal{outcomes: map[*Template][]Outcome{}, held: map[*Template]*holding{}}
	for _, claim := range s.unallocated {
		out.claims = append(out.claims, claim.Name)
	}
	if len(s.unallocated) == 0 {
		// Nothing depends on the kind: one look is enough for all.
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

// splitClaims sorts claims into those that are allocated, with where that is, and those that are not. It returns the kinds
// that can still be had.
func (s *search) splitClaims(claims []*Claim) ([]*Template, *Failure) {
	kinds := s.candidate.Templates
	for _, claim := range claims {
		le := s.ledger.provisional[claim.Name]
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
				return nil, &Failure{Text: fmt.Sprintf("the devices of resourceclaim %q come with another node", claim.Name)}
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

// failure is what to say when no kind is left.
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
