package problem

import (
	"maps"
	"slices"
	"time"

	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/policy"
	"github.com/karpenter-anew/karpenter/internal/operations"
)

// Operations is what OperationsPolicies say about the disruption of NodePools at a moment. The zero value restricts nothing.
type Operations struct {
	// Digest identifies the OperationsPolicies.
	Digest string
	closed map[string]map[disrupt.Reason]policy.Closure
	expiry map[string]*policy.SoftExpiry
	// set are the policies, labels those of the NodePools by name.
	set    policy.Set
	labels map[string]map[string]string
}

// NewOperations evaluates OperationsPolicies for NodePools by name at the moment now.
func NewOperations(list []opsv1alpha1.OperationsPolicy, pools map[string]*v1.NodePool, now time.Time) Operations {
	out := Operations{
		Digest: operations.Digest(list), closed: map[string]map[disrupt.Reason]policy.Closure{}, expiry: map[string]*policy.SoftExpiry{},
	}
	set := operations.Policies(list)
	out.set, out.labels = set, map[string]map[string]string{}
	for name, pool := range pools {
		out.labels[name] = pool.Labels
		out.expiry[name] = set.SoftExpiryOf(pool.Labels)
		for _, reason := range append(disrupt.Reasons(), disrupt.Expired, disrupt.Unhealthy) {
			c, closed := set.Closed(pool.Labels, string(reason), now)
			if !closed {
				continue
			}
			if out.closed[name] == nil {
				out.closed[name] = map[disrupt.Reason]policy.Closure{}
			}
			out.closed[name][reason] = c
		}
	}
	return out
}

// Closed is why a pool may not be disrupted for a reason; false if it may be.
func (o Operations) Closed(pool string, reason disrupt.Reason) (policy.Closure, bool) {
	c, closed := o.closed[pool][reason]
	return c, closed
}

// SoftExpiry reports whether nodes of some pool expire softly.
func (o Operations) SoftExpiry() bool {
	for _, soft := range o.expiry {
		if soft != nil {
			return true
		}
	}
	return false
}

// SoftExpiryOf is when a node expires softly; zero for never.
func (o Operations) SoftExpiryOf(n *model.Node) time.Time {
	soft := o.expiry[n.Pool]
	if soft == nil {
		return time.Time{}
	}
	at, _ := soft.At(time.Unix(0, n.Disruption.Created), n.Disruption.ExpireAfter, n.ClaimName)
	return at
}

// AsksForApproval reports whether some disruption of the pools for a reason has to be approved.
func (o Operations) AsksForApproval(pools []string, reason disrupt.Reason) bool {
	return slices.ContainsFunc(pools, func(name string) bool { return o.set.AsksFor(o.labels[name], string(reason)) })
}

// Demand is what asks for approval of a change in pools; false if nothing does. Of several pools, the first one that something is asked for
// counts, and the shortest time for which a proposal is valid.
func (o Operations) Demand(pools []string, reason disrupt.Reason, c policy.Change) (first policy.Demand, asked bool) {
	for _, name := range pools {
		d, ok := o.set.Demand(o.labels[name], string(reason), c)
		switch {
		case !ok:
		case !asked:
			first, asked = d, true
		default:
			first.ValidFor = min(first.ValidFor, d.ValidFor)
		}
	}
	return first, asked
}

// Apply makes what the policies say part of the disruption settings of pools, by name.
func (o Operations) Apply(rules map[string]disrupt.Pool) {
	if o.closed == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		r := rules[name]
		r.Closed, r.SoftExpiry = o.closed[name], o.expiry[name]
		rules[name] = r
	}
}
