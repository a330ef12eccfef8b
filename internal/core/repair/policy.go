// Package repair decides which nodes are unhealthy, by the conditions of the nodes and the repair policies of a cloud.
//
// Problem: several policies may match several conditions of a node, each with its toleration, bound and priority, and one decision
// about the node has to follow from them. Approach: Compile validates the policies once. Policies.Match compares them with the
// conditions of a node whenever these change, without a clock. Decide merges the matches at a given time, so that a node becomes
// due without being updated. Invariant: the decision does not depend on the order of conditions or policies. Cost: Match is linear
// in conditions times policies, Decide linear in matches, and Covers is one map lookup.
//
// Source: behavior specification, repair policies.
package repair

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"
)

// Action is what a policy wants for an unhealthy node.
type Action string

const (
	// Replace replaces the node.
	Replace Action = "ReplaceNode"
	// Reboot reboots the node.
	Reboot Action = "RebootNode"
)

// maxPriority is the highest priority of a policy.
const maxPriority = 100

// Policy calls a node unhealthy while a condition has a status for one of some reasons.
type Policy struct {
	ConditionType, ConditionStatus string
	// ReasonRegex is searched in the reason of the condition. The policy without one is the default of the set: it matches what no
	// other policy of the type and status matches.
	ReasonRegex string
	// Toleration is how long the condition may last.
	Toleration time.Duration
	// GracePeriod limits the drain of the node; nil for no limit but that of its NodeClaim.
	GracePeriod *time.Duration
	// Priority is between 0 and 100; a higher one is more urgent.
	Priority int
	Action   Action
}

func (p Policy) String() string {
	grace := "none"
	if p.GracePeriod != nil {
		grace = p.GracePeriod.String()
	}
	return fmt.Sprintf("{conditionType: %q, conditionStatus: %q, reasonRegex: %q, tolerationDuration: %s, terminationGracePeriod: %s, priority: %d, action: %q}",
		p.ConditionType, p.ConditionStatus, p.ReasonRegex, p.Toleration, grace, p.Priority, p.Action)
}

// Rule is a compiled policy.
type Rule struct {
	Policy
	// Fallback is set for the default of the set.
	Fallback bool
	// Rank is the position of the priority among those of the set, from the lowest one, which is 0.
	Rank int

	reason *regexp.Regexp
}

// pair is what policies match before they look at the reason.
type pair struct{ kind, status string }

// Policies is a compiled set of policies. It is immutable; nil is the set without policies, which matches nothing.
type Policies struct {
	// specific are the rules with an expression by their pair; covered pairs without one have an empty list.
	specific map[pair][]*Rule
	fallback *Rule
}

// errEmpty is the error for a cloud without policies.
var errEmpty = errors.New("node repair requires the cloud provider to define RepairPolicies, but it defines none")

// Compile validates the policies. The error lists all violations.
func Compile(list []Policy) (*Policies, error) {
	if len(list) == 0 {
		return nil, errEmpty
	}
	var priorities []int
	for _, p := range list {
		priorities = append(priorities, p.Priority)
	}
	slices.Sort(priorities)
	priorities = slices.Compact(priorities)
	out := &Policies{specific: map[pair][]*Rule{}}
	var errs []error
	defaults := 0
	for i, p := range list {
		rank, _ := slices.BinarySearch(priorities, p.Priority)
		rule := &Rule{Policy: p, Fallback: p.ReasonRegex == "", Rank: rank}
		var violations []error
		rule.reason, violations = p.validate()
		for _, violation := range violations {
			errs = append(errs, fmt.Errorf("policy %d %s: %w", i, p, violation))
		}
		at := pair{p.ConditionType, p.ConditionStatus}
		if rule.Fallback {
			defaults++
			out.fallback = rule
			if _, covered := out.specific[at]; !covered {
				out.specific[at] = nil
			}
			continue
		}
		out.specific[at] = append(out.specific[at], rule)
	}
	switch {
	case defaults == 0:
		errs = append(errs, errors.New("repair policy set must define one default fallback, which is a policy without ReasonRegex"))
	case defaults > 1:
		errs = append(errs, fmt.Errorf("repair policy set defines multiple default fallbacks: %d policies have no ReasonRegex", defaults))
	}
	if len(errs) > 0 {
		return nil, fmt.Errorf("node repair requires valid RepairPolicies, fix the cloud provider: %w", errors.Join(errs...))
	}
	return out, nil
}

// validate returns the compiled expression, nil for a default, and all violations.
func (p Policy) validate() (*regexp.Regexp, []error) {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if p.ConditionType == "" {
		fail("ConditionType must not be empty")
	}
	if !slices.Contains([]string{"True", "False", "Unknown"}, p.ConditionStatus) {
		fail("ConditionStatus must be True, False or Unknown")
	}
	if p.Toleration < 0 {
		fail("TolerationDuration must not be negative")
	}
	if p.GracePeriod != nil && *p.GracePeriod < 0 {
		fail("TerminationGracePeriod must not be negative")
	}
	if p.Priority < 0 || p.Priority > maxPriority {
		fail("Priority must be between 0 and %d", maxPriority)
	}
	switch {
	case p.Action != Replace && p.Action != Reboot:
		fail("Action must be %s or %s", Replace, Reboot)
	case p.ReasonRegex == "" && p.Action != Replace:
		fail("the default fallback must have the Action %s", Replace)
	}
	if p.ReasonRegex == "" {
		return nil, errs
	}
	reason, err := regexp.Compile(p.ReasonRegex)
	if err != nil {
		fail("ReasonRegex must be a regular expression of Go: %w", err)
	}
	return reason, errs
}

// Covers reports whether some policy is for a condition of this type and status, whatever its reason: the node counts as unhealthy.
func (p *Policies) Covers(kind, status string) bool {
	if p == nil {
		return false
	}
	_, covered := p.specific[pair{kind, status}]
	return covered
}

// Condition is a condition of a node.
type Condition struct {
	Type, Status, Reason string
	// Since is when the status changed, in nanoseconds since the epoch; 0 when that is not known.
	Since int64
}

// Match is a policy that matches a condition of a node.
type Match struct {
	Rule *Rule
	// Condition has in Since the later of its transition and the creation of the node.
	Condition Condition
}

// Match appends to matches those of one condition of a node that was created at created, in nanoseconds since the epoch.
//
// Every policy whose expression occurs in the reason matches, and the default if there is none: a policy whose toleration has not
// passed keeps the default from matching.
func (p *Policies) Match(matches []Match, c Condition, created int64) []Match {
	if !p.Covers(c.Type, c.Status) {
		return matches
	}
	c.Since = max(c.Since, created)
	found := false
	for _, rule := range p.specific[pair{c.Type, c.Status}] {
		if rule.reason.MatchString(c.Reason) {
			matches, found = append(matches, Match{Rule: rule, Condition: c}), true
		}
	}
	if !found {
		matches = append(matches, Match{Rule: p.fallback, Condition: c})
	}
	return matches
}

// EligibleAt is when the toleration of the match ends. The toleration begins again when a reboot ends.
func (m Match) EligibleAt(rebooted int64) int64 {
	return max(m.Condition.Since, rebooted) + m.Rule.Toleration.Nanoseconds()
}

// compareUrgency orders matches with the same action, most urgent first.
func (m Match) compareUrgency(o Match, rebooted int64) int {
	return cmp.Or(cmp.Compare(o.Rule.Priority, m.Rule.Priority), m.compareAge(o, rebooted))
}

// compareAge orders matches by when they became due.
func (m Match) compareAge(o Match, rebooted int64) int {
	return cmp.Or(cmp.Compare(m.EligibleAt(rebooted), o.EligibleAt(rebooted)), cmp.Compare(m.Condition.Type, o.Condition.Type))
}
