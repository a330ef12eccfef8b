package reason

import (
	"fmt"
	"strings"
)

// Limit is a limit of a pool, in amounts as users write them.
type Limit struct {
	// Resource is what is limited, Limit how much of it the pool may have.
	Resource, Limit string
	// Used is what its nodes have, together with those about to be launched.
	Used string
	// Needed is the least limit under which the pod could be placed; empty when a higher limit alone would not do.
	Needed string
}

// Shortage is a request that is larger than what can be had.
type InsufficientResource struct {
	// Resource is what is asked for, Asked how much of it; Most is what is left for pods on the largest machine.
	Resource, Requested, Available string
}

// Slots is how many volumes of a driver a pod has, and the most that a machine can attach.
type AttachLimit struct {
	Driver       string
	Volumes, Max int
}

// Values is how many distinct values of a label are wanted, and how many there are.
type MinValues struct {
	Key                 string
	Required, Available int
}

// shown is how many offers, and how many requirements, a message lists.
const maxListed = 3

// Detail is what is known about an obstacle beside its headline: amounts, and what it would take. It is empty when the
// headline says everything.
func (r Obstacle) Detail() string {
	var parts []string
	for _, v := range r.MinValues {
		parts = append(parts, fmt.Sprintf("%s: %d values wanted, %d left", v.Key, v.Required, v.Available))
	}
	for _, l := range r.Limits {
		part := fmt.Sprintf("%s: limit %s, used or planned %s", l.Resource, l.Limit, l.Used)
		if l.Needed != "" {
			part += fmt.Sprintf(", a limit of %s would do", l.Needed)
		}
		parts = append(parts, part)
	}
	if r.AttachLimit.Driver != "" {
		parts = append(parts, fmt.Sprintf("%s: %d volumes, at most %d can be attached", r.AttachLimit.Driver, r.AttachLimit.Volumes, r.AttachLimit.Max))
	}
	for _, s := range r.Insufficient {
		parts = append(parts, fmt.Sprintf("%s: %s asked, at most %s left for pods", s.Resource, s.Requested, s.Available))
	}
	if r.Daemons != "" {
		parts = append(parts, fmt.Sprintf("it would fit without the %s that DaemonSets take", r.Daemons))
	}
	if len(r.UnavailableOfferings) > 0 {
		parts = append(parts, "on offer, but not available: "+list(r.UnavailableOfferings, "; "))
	}
	if len(r.Without) > 0 {
		entries := make([]string, len(r.Without))
		for i, one := range r.Without {
			if entries[i] = one.String(); one.Len() == 0 && !one.Complement() {
				// No value is left of what several demands have in common.
				entries[i] = "what is demanded of " + one.Key
			}
		}
		parts = append(parts, "it would fit without "+list(entries, ", or without "))
	}
	return strings.Join(parts, "; ")
}

// Help is what would make the obstacle go away.
func (r Obstacle) Remedy() string {
	code := r.Code
	if code == PoolEmpty && len(r.UnavailableOfferings) > 0 {
		code = OfferingUnavailable
	}
	for _, rule := range Rules() {
		if rule.Code == code {
			return rule.Remedy
		}
	}
	return ""
}

// list joins the first so many.
func list(parts []string, separator string) string {
	if more := len(parts) - maxListed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(parts[:maxListed], separator), more)
	}
	return strings.Join(parts, separator)
}
