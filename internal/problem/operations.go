package problem

import (
	"maps"
	"slices"
	"time"

	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/policy"
	"github.com/karpenter-anew/karpenter/internal/operations"
)

// Operations is what OperationsPolicies say about the disruption of NodePools at a moment. The zero value restricts nothing.
type Operations struct {
	// Digest identifies the OperationsPolicies.
	Digest string
	closed map[string]map[disrupt.Reason]policy.Closure
	expiry map[string]*policy.SoftExpiry
}

// NewOperations evaluates OperationsPolicies for NodePools by name at the moment now.
func NewOperations(list []opsv1alpha1.OperationsPolicy, pools map[string]*v1.NodePool, now time.Time) Operations {
	out := Operations{
		Digest: operations.Digest(list), closed: map[string]map[disrupt.Reason]policy.Closure{}, expiry: map[string]*policy.SoftExpiry{},
	}
	set := operations.Policies(list)
	for name, pool := range pools {
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
