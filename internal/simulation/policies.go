package simulation

import (
	"context"
	"fmt"

	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/policy"
	"github.com/karpenter-anew/karpenter/internal/operations"
	"github.com/karpenter-anew/karpenter/internal/problem"
)

// considered are the OperationsPolicies that count: none, unless the feature gate for them is on.
func (w *clusterObjects) considered(opts Options) []opsv1alpha1.OperationsPolicy {
	if !opts.OperationsPolicies {
		return nil
	}
	return w.policies
}

// policyWarnings are the OperationsPolicies that are not considered, and those that cannot be evaluated.
func (w *clusterObjects) policyWarnings(opts Options) []string {
	var out []string
	for i := range w.policies {
		p := &w.policies[i]
		if !opts.OperationsPolicies {
			out = append(out, fmt.Sprintf("OperationsPolicy %q is not considered: the feature gate OperationsPolicy is off", p.Name))
			continue
		}
		if err := operations.Validate(p); err != nil {
			out = append(out, fmt.Sprintf("OperationsPolicy %q cannot be evaluated: %v; no node of its NodePools is disrupted until this is corrected, and a cap that cannot be read is 0", p.Name, err))
		}
	}
	return out
}

// costCaps are the caps on cost, and what the NodeClaims of a simulated cluster use of them. It implements problem.CostCaps.
//
// A controller counts a NodeClaim whose instance type is not offered any longer at its last known price; here its price is not known.
type costCaps struct {
	set    policy.Set
	prices operations.Prices
	cloud  cloud.Cloud
	// claims are all NodeClaims, by name.
	claims map[string]*v1.NodeClaim
}

// capsOn are the caps of the policies that count; nil if there are none.
func (w *clusterObjects) capsOn(ctx context.Context, provider cloud.Provider, opts Options) *costCaps {
	set := operations.Policies(w.considered(opts))
	if !set.Capped() {
		return nil
	}
	out := &costCaps{set: set, prices: operations.NewPrices(w.cloud.Labels), cloud: w.cloud, claims: map[string]*v1.NodeClaim{}}
	for name, pool := range w.pools {
		if !w.cloud.Manages(pool.Spec.Template.Spec.NodeClassRef) {
			continue
		}
		// The nodes of a pool without types have unknown prices.
		if types, err := provider.InstanceTypes(ctx, pool); err == nil {
			out.prices.Add(name, types)
		}
	}
	for _, claim := range w.claims {
		out.claims[claim.Name] = claim
	}
	return out
}

// Of implements problem.CostCaps.
func (c *costCaps) Of(_ context.Context, pools []*v1.NodePool) (map[string][]policy.UsedCap, error) {
	return operations.UsedCaps(c.set, c.spend(), pools), nil
}

// admit returns a policy.ExceededError if launches would exceed a cap.
func (c *costCaps) admit(pools map[string]*v1.NodePool, claims []*v1.NodeClaim) error {
	spend := c.spend()
	for _, claim := range claims {
		pool, caps := claim.Labels[v1.NodePoolLabelKey], c.set.CapsOnCluster()
		if object, ok := pools[pool]; ok {
			caps = c.set.CapsOn(pool, object.Labels)
		}
		price := c.prices.Most(claim)
		if err := spend.Admit(price, caps...); err != nil {
			return err
		}
		spend.Add(pool, claim.Name, price)
	}
	return nil
}

func (c *costCaps) spend() *policy.Spend {
	out := &policy.Spend{}
	for name, claim := range c.claims {
		if !c.cloud.Manages(claim.Spec.NodeClassRef) {
			continue
		}
		price, _ := c.prices.Of(claim)
		out.Add(claim.Labels[v1.NodePoolLabelKey], name, price)
	}
	return out
}

// Methods are those of the controller, in their order.
func (v DisruptionView) Methods() []disrupt.Method {
	if len(v.policies) == 0 {
		return disrupt.Methods()
	}
	return disrupt.WithExpiry(disrupt.Methods())
}

// Demand is what asks for approval of a command; false if nothing does.
func (a Assessment) Demand(c disrupt.Command) (policy.Demand, bool) {
	pools := c.Pools()
	if !a.Operations.AsksForApproval(pools, c.Reason) {
		return policy.Demand{}, false
	}
	risk := 0
	for _, candidate := range c.Candidates {
		for _, pod := range problem.Leaving(candidate, a.view.Pods[candidate.Node.NodeName]) {
			if problem.Unprotected(pod, a.view.PDBs, a.Qualification.Now) {
				risk++
			}
		}
	}
	return a.Operations.Demand(pools, c.Reason, problem.ChangeOf(c, risk))
}
