package policy

import (
	"fmt"
	"math"
	"time"
)

// Approval is which disruption a person has to approve.
type Approval struct {
	// Always is set if all of it has to be approved. Otherwise what exceeds one of the thresholds that are not nil has to be.
	Always bool
	// Cost is the largest change of the cost per hour without approval, Nodes and Risk the largest number of nodes and the largest risk.
	Cost        *Dollars
	Nodes, Risk *int
	// Reasons are those that it is for; nil for all but Unhealthy.
	Reasons []string
	// ValidFor is how long a proposal stays valid.
	ValidFor time.Duration
}

// Change is what disruption changes.
type Change struct {
	// Cost is the change of the cost in dollars per hour, up or down; NaN if it is not known.
	Cost float64
	// Nodes is the number of nodes that are disrupted, Risk the number of pods that are evicted without protection.
	Nodes, Risk int
}

// Demand is that a policy asks for approval.
type Demand struct {
	// Policy is the name of the policy, Why what it asks for.
	Policy, Why string
	// ValidFor is how long a proposal stays valid: the shortest time of all policies that ask.
	ValidFor time.Duration
}

// exceeded is why the approval is asked for a change; empty if it is not.
func (a *Approval) exceeded(c Change) string {
	switch {
	case a.Always:
		return "all disruption has to be approved"
	case a.Cost != nil && math.IsNaN(c.Cost):
		return fmt.Sprintf("the change of the cost is not known, more than %s has to be approved", *a.Cost)
	case a.Cost != nil && PriceOf(math.Abs(c.Cost)) > *a.Cost:
		return fmt.Sprintf("the cost changes by %s, more than %s has to be approved", PriceOf(math.Abs(c.Cost)), *a.Cost)
	case a.Nodes != nil && c.Nodes > *a.Nodes:
		return fmt.Sprintf("%d nodes are disrupted together, more than %d have to be approved", c.Nodes, *a.Nodes)
	case a.Risk != nil && c.Risk > *a.Risk:
		return fmt.Sprintf("%d pods are evicted without protection, more than %d have to be approved", c.Risk, *a.Risk)
	}
	return ""
}

// AsksFor reports whether some disruption of pools with these labels for a reason has to be approved.
func (s Set) AsksFor(labels map[string]string, reason string) bool {
	for _, p := range s {
		if p.Approval != nil && covers(p.Approval.Reasons, reason) && p.Selects(labels) {
			return true
		}
	}
	return false
}

// Demand returns what asks for approval of a change in pools with these labels; false if nothing does. Of several policies, the first one
// by name is named.
func (s Set) Demand(labels map[string]string, reason string, c Change) (first Demand, asked bool) {
	for _, p := range s {
		if p.Approval == nil || !covers(p.Approval.Reasons, reason) || !p.Selects(labels) {
			continue
		}
		why := p.Approval.exceeded(c)
		switch {
		case why == "":
		case !asked:
			first, asked = Demand{Policy: p.Name, Why: why, ValidFor: p.Approval.ValidFor}, true
		default:
			first.ValidFor = min(first.ValidFor, p.Approval.ValidFor)
		}
	}
	return first, asked
}
