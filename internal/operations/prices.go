package operations

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/policy"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/cost"
)

// Prices are those of the instance types of every pool, as caps on cost count them.
type Prices struct {
	types map[string][]pricedType
	exact map[string]cost.Prices
	rules v1.LabelRules
}

// pricedType is an instance type with its offerings that may be launched.
type pricedType struct {
	name         string
	requirements requirement.Set
	offerings    []pricedOffering
}

type pricedOffering struct {
	zone, capacityType string
	price              policy.Dollars
}

// NewPrices returns prices of no pool. rules are those of the labels of the cloud.
func NewPrices(rules v1.LabelRules) Prices {
	return Prices{types: map[string][]pricedType{}, exact: map[string]cost.Prices{}, rules: rules}
}

// Add adds the instance types of a pool.
func (p *Prices) Add(pool string, types []*cloud.InstanceType) {
	p.exact[pool] = cost.PricesOf(types)
	list := make([]pricedType, len(types))
	for i, t := range types {
		list[i] = pricedType{name: t.Name, requirements: cloud.Requirements(t.Requirements, p.rules)}
		for j := range t.Offerings {
			o := &t.Offerings[j]
			price := policy.PriceOf(o.Price)
			if !o.PriceKnown() {
				if !o.Available {
					continue // not launched without a price
				}
				price = policy.MostDollars
			}
			list[i].offerings = append(list[i].offerings, pricedOffering{zone: o.Zone(), capacityType: o.CapacityType(), price: price})
		}
	}
	p.types[pool] = list
}

// Of is the price of a NodeClaim: that of its offering once it is launched, and before the most that it may cost. It is MostDollars if it is
// not known.
func (p *Prices) Of(claim *v1.NodeClaim) (price policy.Dollars, launched bool) {
	offering := cost.OfferingOf(claim.Labels)
	if !offering.Complete() {
		return p.Most(claim), false
	}
	own := claim.Labels[v1.NodePoolLabelKey]
	for _, pool := range append([]string{own}, slices.Sorted(maps.Keys(p.exact))...) {
		if dollars, known := p.exact[pool].Of(offering); known {
			return policy.PriceOf(dollars), true
		}
	}
	return policy.MostDollars, true
}

// Most is the price of the most expensive offering that a NodeClaim permits; MostDollars if it is not known. Offerings that are unavailable now
// count: they may become available before the launch.
func (p *Prices) Most(claim *v1.NodeClaim) policy.Dollars {
	want := cloud.Requirements(claim.Spec.Requirements, p.rules).And(cloud.LabelRequirements(claim.Labels, p.rules))
	names, zones, capacityTypes := want.Get(corev1.LabelInstanceTypeStable), want.Get(corev1.LabelTopologyZone), want.Get(v1.CapacityTypeLabelKey)
	// Zones and capacity types of a type are those that are available now.
	ofType := want.Without(corev1.LabelTopologyZone, v1.CapacityTypeLabelKey)
	most, found := policy.Dollars(0), false
	for _, t := range p.types[claim.Labels[v1.NodePoolLabelKey]] {
		if !names.Has(t.name) || !ofType.Intersects(t.requirements) {
			continue
		}
		for _, o := range t.offerings {
			if zones.Has(o.zone) && capacityTypes.Has(o.capacityType) {
				most, found = max(most, o.price), true
			}
		}
	}
	if !found {
		return policy.MostDollars
	}
	return most
}

// UsedCaps are the caps that apply to pools, with what is spent, by name of the pool. Pools without caps are left out.
func UsedCaps(set policy.Set, spend *policy.Spend, pools []*v1.NodePool) map[string][]policy.UsedCap {
	out := map[string][]policy.UsedCap{}
	for _, pool := range pools {
		if caps := set.CapsOn(pool.Name, pool.Labels); len(caps) > 0 {
			out[pool.Name] = spend.UsedOf(caps)
		}
	}
	return out
}
