// Package launch decides the request to EC2 for one NodeClaim: of all compatible offerings, which types, which capacity
// type, which tenancy. It makes no calls.
//
// Source: AWS provider specification, launch filters.
package launch

import (
	"errors"
	"fmt"
	"slices"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// MaxTypes is how many instance types one launch names.
const MaxTypes = 60

// Order is the request to EC2.
type Order struct {
	// Candidates are offerings of the capacity type, cheapest first. EC2 may start any of them.
	Candidates   []cloud.Candidate
	CapacityType string
	Tenancy      string
	// Partition is the partition of the placement group that all candidates are in; empty if EC2 may choose, or there is none.
	Partition string
	// Dropped says which filters left out types, and which; worth a line in a debug log.
	Dropped []Dropped
	// SpotAvoided says that spot was allowed, and on-demand is requested because spot is unavailable.
	SpotAvoided bool
}

// Dropped are the names of types that a filter left out, sorted.
type Dropped struct {
	Filter string
	Types  []string
}

// errNothingLeft is why a launch has no capacity.
var errNothingLeft = errors.New("all requested instance types were unavailable during launch")

// Choose decides. The candidates are what the claim can be launched as, cheapest first, as cloud.OfferingList lists them. Strict says
// that a claim's minValues have to be met even if fewer types are sent to EC2. Too few candidates are an insufficient
// capacity error.
func Choose(candidates []cloud.Candidate, claim *v1.NodeClaim, strict bool) (Order, error) {
	want := cloud.Requirements(claim.Spec.Requirements, awsv1.LabelRules())
	minValues := slices.ContainsFunc(claim.Spec.Requirements, func(r v1.NodeSelectorRequirementWithMinValues) bool { return r.MinValues != nil })
	if !want.Has(v1.CapacityTypeLabelKey) {
		candidates = onDemandFirst(candidates)
	}
	var order Order
	for _, filter := range []struct {
		name string
		keep func([]cloud.Candidate) []cloud.Candidate
		skip bool
	}{
		{"capacity-reservation-type-filter", oneReservationKind, false},
		{"capacity-block-filter", oneCapacityBlock, false},
		{"reserved-offering-filter", largestReservations, false},
		{"exotic-instance-filter", withoutExotic, minValues},
		{"spot-offering-filter", withoutExpensiveSpot, minValues},
	} {
		if filter.skip {
			continue
		}
		kept := filter.keep(candidates)
		if dropped := missing(candidates, kept); len(dropped) > 0 {
			order.Dropped = append(order.Dropped, Dropped{filter.name, dropped})
		}
		candidates = kept
	}
	if len(candidates) == 0 {
		return Order{}, cloud.NewInsufficientCapacityError(errNothingLeft)
	}
	candidates = firstTypes(candidates, MaxTypes)
	if strict {
		if err := checkMinValues(candidates, want); err != nil {
			return Order{}, cloud.NewInsufficientCapacityError(err)
		}
	}
	order.CapacityType = capacityTypeOf(candidates)
	order.SpotAvoided = order.CapacityType == v1.CapacityTypeOnDemand && want.Has(v1.CapacityTypeLabelKey) && want.Get(v1.CapacityTypeLabelKey).Has(v1.CapacityTypeSpot)
	order.Candidates = keep(candidates, func(c cloud.Candidate) bool { return c.Offering.CapacityType() == order.CapacityType })
	order.Partition, order.Candidates = onePartition(order.Candidates, want)
	order.Tenancy = tenancyOf(want)
	return order, nil
}

// onDemandFirst keeps only on-demand offerings, if there are any: spot instances must be requested.
func onDemandFirst(candidates []cloud.Candidate) []cloud.Candidate {
	if kept := keep(candidates, onDemand); len(kept) > 0 {
		return kept
	}
	return candidates
}

// capacityTypeOf is the capacity type: reserved capacity first, then the cheapest.
func capacityTypeOf(candidates []cloud.Candidate) string {
	for _, capacityType := range []string{v1.CapacityTypeReserved, v1.CapacityTypeSpot} {
		if slices.ContainsFunc(candidates, func(c cloud.Candidate) bool { return c.Offering.CapacityType() == capacityType }) {
			return capacityType
		}
	}
	return v1.CapacityTypeOnDemand
}

// tenancyOf is dedicated only if the claim requires it.
func tenancyOf(want requirement.Set) string {
	allowed := want.Get(awsv1.LabelInstanceTenancy)
	if !allowed.Has(awsv1.TenancyDefault) && allowed.Has(awsv1.TenancyDedicated) {
		return awsv1.TenancyDedicated
	}
	return awsv1.TenancyDefault
}

// firstTypes keeps the offerings of the first types, up to this number.
func firstTypes(candidates []cloud.Candidate, limit int) []cloud.Candidate {
	types := map[string]bool{}
	return keep(candidates, func(c cloud.Candidate) bool {
		if len(types) < limit {
			types[c.Type.Name] = true
		}
		return types[c.Type.Name]
	})
}

// checkMinValues returns a label with fewer remaining values than the claim's minValues.
func checkMinValues(candidates []cloud.Candidate, want requirement.Set) error {
	for _, r := range want {
		if r.MinValues() == 0 {
			continue
		}
		seen := map[string]bool{}
		values := r.DistinctValues(func(yield func(requirement.Requirement) bool) {
			for _, c := range candidates {
				if seen[c.Type.Name] {
					continue
				}
				seen[c.Type.Name] = true
				if !yield(cloud.Requirements(c.Type.Requirements, awsv1.LabelRules()).Get(r.Key)) {
					return
				}
			}
		})
		if values < r.MinValues() {
			return fmt.Errorf("minValues of label %q is %d, and %d instance types have only %d", r.Key, r.MinValues(), len(seen), values)
		}
	}
	return nil
}

// keep returns the candidates for which ok holds, in a new slice.
func keep(candidates []cloud.Candidate, ok func(cloud.Candidate) bool) []cloud.Candidate {
	var out []cloud.Candidate
	for _, c := range candidates {
		if ok(c) {
			out = append(out, c)
		}
	}
	return out
}

// missing are the names of types that are in before and not in after, sorted.
func missing(before, after []cloud.Candidate) []string {
	left := map[string]bool{}
	for _, c := range after {
		left[c.Type.Name] = true
	}
	var out []string
	for _, c := range before {
		if !left[c.Type.Name] {
			out = append(out, c.Type.Name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
