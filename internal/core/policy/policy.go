// Package policy decides what operations policies allow at a moment: whether nodes of a pool may be disrupted for a reason, what pools and
// the cluster may cost, when nodes expire softly, and what has to be approved.
//
// Problem: several policies may select a pool, each with windows in a time zone, a freeze and caps. Approach: each policy is evaluated by
// itself, and the strictest answer counts. The state of a window is found from its schedule alone, so that nothing has to be remembered
// between two evaluations. Cost of an answer: linear in the policies and their windows; see Window.
//
// Source: docs/operations-policy.md.
package policy

import (
	"fmt"
	"slices"
	"time"
)

// Unhealthy is the reason that policies restrict only where they name it: a broken node is repaired otherwise.
const Unhealthy = "Unhealthy"

// Kind is what closes a pool.
type Kind string

// The kinds of closures.
const (
	// OutsideWindow is for pools that no maintenance window is open for.
	OutsideWindow Kind = "window"
	// Frozen is for pools with a freeze.
	Frozen Kind = "freeze"
	// Invalid is for policies that cannot be evaluated.
	Invalid Kind = "invalid"
)

// Closure is why nodes of a pool may not be disrupted for a reason now.
type Closure struct {
	Kind Kind
	// Policy is the name of the policy.
	Policy string
	// Until is when this policy alone would allow disruption again; zero for never, or if it is not known.
	Until time.Time
	// Why is the text of the freeze, or what is wrong with the policy.
	Why string
}

// Text renders why nodes of a pool are not disrupted for a reason, as events and logs show it.
func (c Closure) Text(pool, reason string) string {
	text := fmt.Sprintf("OperationsPolicy %q allows no disruption of NodePool %q for %s", c.Policy, pool, reason)
	switch {
	case c.Kind == Frozen:
		return text + ": frozen until " + c.Until.UTC().Format(time.RFC3339) + ", " + c.Why
	case c.Kind == Invalid:
		return text + ": the policy cannot be evaluated, " + c.Why
	case c.Until.IsZero():
		return text + ": no maintenance window is open, and none will open"
	}
	return text + ": no maintenance window is open, the next one opens at " + c.Until.UTC().Format(time.RFC3339)
}

// lasts reports whether c ends after other does. One without an end lasts longest.
func (c Closure) lasts(other Closure) bool {
	switch {
	case c.Until.IsZero() || other.Until.IsZero():
		return c.Until.IsZero() && !other.Until.IsZero()
	default:
		return c.Until.After(other.Until)
	}
}

// Freeze stops disruption until a point in time.
type Freeze struct {
	Until time.Time
	Why   string
	// Reasons are those that it is for; nil for all but Unhealthy.
	Reasons []string
}

// Policy is an operations policy.
type Policy struct {
	Name string
	// Selects reports whether the policy is for pools with these labels.
	Selects func(labels map[string]string) bool
	Windows []Window
	Freeze  *Freeze
	// PoolCap is the cap of each selected pool, ClusterCap that of all nodes; nil for none.
	PoolCap, ClusterCap *Dollars
	SoftExpiry          *SoftExpiry
	// Approval is which disruption has to be approved; nil for none.
	Approval *Approval
	// Invalid is what is wrong with the policy; empty for valid ones. An invalid policy closes its pools, because it is not known what
	// it would allow.
	Invalid string
}

// Set is all policies of a cluster, by name. The zero value allows everything.
type Set []Policy

// NewSet returns a set of policies.
func NewSet(list []Policy) Set {
	return slices.SortedStableFunc(slices.Values(list), func(a, b Policy) int {
		switch {
		case a.Name < b.Name:
			return -1
		case a.Name > b.Name:
			return 1
		}
		return 0
	})
}

// Closed returns why nodes of a pool with these labels may not be disrupted for a reason now: the closure that lasts longest. It is false
// where they may be.
func (s Set) Closed(labels map[string]string, reason string, now time.Time) (longest Closure, closed bool) {
	for _, p := range s {
		if !p.Selects(labels) {
			continue
		}
		for _, c := range p.closures(reason, now) {
			if !closed || c.lasts(longest) {
				longest, closed = c, true
			}
		}
	}
	return longest, closed
}

// closures are why the policy alone does not allow disruption for a reason now.
func (p Policy) closures(reason string, now time.Time) []Closure {
	if p.Invalid != "" {
		if reason == Unhealthy {
			return nil
		}
		return []Closure{{Kind: Invalid, Policy: p.Name, Why: p.Invalid}}
	}
	var out []Closure
	if f := p.Freeze; f != nil && covers(f.Reasons, reason) && now.Before(f.Until) {
		out = append(out, Closure{Kind: Frozen, Policy: p.Name, Until: f.Until, Why: f.Why})
	}
	restricted, next := false, time.Time{}
	for _, w := range p.Windows {
		if !covers(w.Reasons, reason) {
			continue
		}
		restricted = true
		open, opens := w.State(now)
		if open {
			return out
		}
		if next.IsZero() || !opens.IsZero() && opens.Before(next) {
			next = opens
		}
	}
	if restricted {
		out = append(out, Closure{Kind: OutsideWindow, Policy: p.Name, Until: next})
	}
	return out
}

// covers reports whether a list of reasons has one; an absent list has all but Unhealthy.
func covers(list []string, reason string) bool {
	if list == nil {
		return reason != Unhealthy
	}
	return slices.Contains(list, reason)
}
