package unschedulable

import (
	"fmt"
	"slices"
	"strings"
)

// Limit is a limit of a pool, in amounts as users write them.
type Limit struct {
	// Resource is the name of the resource, Limit the amount of it that the pool may have.
	Resource, Limit string
	// Used is the amount of its existing and planned nodes.
	Used string
	// Needed is the lowest limit with which the pod could be placed; empty when no higher limit alone is sufficient.
	Needed string
}

// InsufficientResource is a request that exceeds the capacity of every instance type.
type InsufficientResource struct {
	// Requested is the pod's request; Available is the largest amount that an instance type leaves for pods.
	Resource, Requested, Available string
	// Unoffered is set when nothing offers the resource; Hint is a known one that the user may have meant.
	Unoffered bool
	Hint      string
}

// String compares the request with what there is.
func (s InsufficientResource) String() string {
	if s.Unoffered {
		return fmt.Sprintf("%s: %s requested, and no node or instance type offers the resource%s", s.Resource, s.Requested, typoOf(s.Hint))
	}
	return fmt.Sprintf("%s: %s requested, at most %s available for pods", s.Resource, s.Requested, s.Available)
}

// AttachLimit is the number of a pod's volumes of a driver, and the maximum that a node can attach.
type AttachLimit struct {
	Driver       string
	Volumes, Max int
}

// MinValues is the number of distinct values of a label that are required, and how many are available.
type MinValues struct {
	Key                 string
	Required, Available int
}

// maxListed is the number of offerings, and of requirements, that a message lists.
const maxListed = 3

// Detail returns what is known about a reason beyond its headline: amounts, and what would be sufficient. It is empty when
// the headline is complete.
func (r Reason) Detail() string {
	var parts []string
	for _, v := range r.MinValues {
		parts = append(parts, fmt.Sprintf("%s: %d values required, %d available", v.Key, v.Required, v.Available))
	}
	limits := r.limitDetails()
	beside := len(limits) > 0 && r.limitedBeside()
	if !beside {
		parts = append(parts, limits...)
	}
	if r.AttachLimit.Driver != "" {
		parts = append(parts, fmt.Sprintf("%s: %d volumes, at most %d can be attached", r.AttachLimit.Driver, r.AttachLimit.Volumes, r.AttachLimit.Max))
	}
	for _, s := range r.Insufficient {
		parts = append(parts, s.String())
	}
	if r.Daemons != "" {
		parts = append(parts, fmt.Sprintf("the pod would fit without the %s that DaemonSets request", r.Daemons))
	}
	if len(r.UnavailableOfferings) > 0 {
		parts = append(parts, "unavailable offerings: "+list(r.UnavailableOfferings, "; "))
	}
	if r.Topology.Unmatched {
		parts = append(parts, "no pod matches the affinity, neither on a node nor pending")
	}
	if r.Topology.Undefined {
		parts = append(parts, fmt.Sprintf("no node has the label %s, and no NodePool or instance type has values for it%s", r.Topology.Key, typoOf(r.Topology.Hint)))
	}
	if r.Topology.MinDomains > 0 {
		parts = append(parts, fmt.Sprintf("minDomains is %d, and there are %d domains", r.Topology.MinDomains, len(r.Topology.Counts)))
	}
	for i, d := range r.Topology.Unreachable {
		if i == maxListed {
			parts = append(parts, fmt.Sprintf("and %d more such domains", len(r.Topology.Unreachable)-i))
			break
		}
		parts = append(parts, d.String())
	}
	for _, key := range r.Contradictory {
		parts = append(parts, "no value meets all requirements of the NodePool on "+key)
	}
	for _, u := range r.UnknownValues {
		parts = append(parts, u.String())
	}
	if len(r.Without) > 0 && len(r.UnknownValues) == 0 {
		outcome := "the pod would fit without "
		if r.Code == PoolEmpty {
			outcome = "there would be instance types without "
		}
		entries := make([]string, len(r.Without))
		for i, one := range r.Without {
			if entries[i] = one.String(); one.Len() == 0 && !one.Complement() {
				// Several requirements have no value in common.
				entries[i] = "the requirements on " + one.Key
			}
		}
		parts = append(parts, outcome+list(entries, ", or without "))
	}
	if beside {
		parts = append(parts, "all available instance types exceed limits as well ("+strings.Join(limits, ", ")+")")
	}
	return strings.Join(parts, "; ")
}

// limitDetails are the limits, and what would be sufficient.
func (r Reason) limitDetails() []string {
	var parts []string
	for _, l := range r.Limits {
		part := fmt.Sprintf("%s: limit %s, used or planned %s", l.Resource, l.Limit, l.Used)
		if l.Needed != "" {
			part += fmt.Sprintf(", a limit of %s would be sufficient", l.Needed)
		}
		parts = append(parts, part)
	}
	return parts
}

// limitedBeside reports whether limits are exceeded beside the reason, which would remain without them.
func (r Reason) limitedBeside() bool { return !r.OverLimits() && r.Code != MinValuesUnmet }

// typoOf asks whether a label or resource is meant; empty for none.
func typoOf(hint string) string {
	if hint == "" {
		return ""
	}
	return fmt.Sprintf(" (typo of %q?)", hint)
}

// The labels with the zone and the host name of a node.
const (
	zoneKey     = "topology.kubernetes.io/zone"
	hostnameKey = "kubernetes.io/hostname"
)

// Remedy returns what a user can change so that the reason no longer applies.
func (r Reason) Remedy() string {
	code := r.Code
	switch {
	case r.Topology.Undefined:
		return "Correct the topologyKey of the constraint, or list values of the label in the requirements of a NodePool."
	case r.Topology.Unmatched:
		return "Create the pods that the affinity names, or correct its label selector and namespaces."
	case r.Topology.Key == hostnameKey && r.Topology.Kind == "pod affinity":
		return "Free capacity on the nodes of the pods that the affinity names, which no new node has, or use a topologyKey that several nodes share."
	case r.Topology.MinDomains > 0:
		return "Lower minDomains of the constraint, or let NodePools launch nodes in more domains."
	case len(r.Topology.Unreachable) > 0:
		return r.Topology.remedy()
	case len(r.Contradictory) > 0:
		return fmt.Sprintf("Correct the NodePool's requirements and labels on %s: they contradict each other.", strings.Join(r.Contradictory, " and on "))
	case len(r.UnknownValues) > 0:
		u := r.UnknownValues[0]
		if u.Key == zoneKey {
			return fmt.Sprintf("Use a value of %s that exists, such as %s, or let the node class cover the zone.", u.Key, u.Known[0])
		}
		return fmt.Sprintf("Use a value of %s that exists, such as %s.", u.Key, u.Known[0])
	case slices.ContainsFunc(r.Insufficient, func(i InsufficientResource) bool { return i.Unoffered }):
		return "Correct the name of the resource, or add it to the capacity of instance types with a NodeOverlay."
	}
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

// list joins the first maxListed parts.
func list(parts []string, separator string) string {
	if more := len(parts) - maxListed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(parts[:maxListed], separator), more)
	}
	return strings.Join(parts, separator)
}
