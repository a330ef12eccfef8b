// Package cost computes the price of nodes from the offerings that they were launched as.
//
// Source: scheduling specification, other side stores; disruption specification, NodePool cost tracking.
package cost

import (
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// Offering is the offering that a node was launched as.
type Offering struct{ InstanceType, Zone, CapacityType string }

// OfferingOf returns the offering of a node from its labels, or from those of its NodeClaim.
func OfferingOf(labels map[string]string) Offering {
	return Offering{
		InstanceType: labels[corev1.LabelInstanceTypeStable],
		Zone:         labels[corev1.LabelTopologyZone],
		CapacityType: labels[v1.CapacityTypeLabelKey],
	}
}

// Complete reports whether all fields are set, which they are after the launch.
func (o Offering) Complete() bool {
	return o.InstanceType != "" && o.Zone != "" && o.CapacityType != ""
}

// Prices are the hourly prices of a pool's offerings, including unavailable ones. The zero value has none.
type Prices struct {
	types map[string]*cloud.InstanceType
}

// PricesOf returns the prices of the instance types that a cloud lists for a pool.
func PricesOf(types []*cloud.InstanceType) Prices {
	p := Prices{types: make(map[string]*cloud.InstanceType, len(types))}
	for _, t := range types {
		p.types[t.Name] = t
	}
	return p
}

// Of returns the price of an offering in dollars per hour, never negative; false if it is unknown.
func (p Prices) Of(o Offering) (dollars float64, known bool) {
	t := p.types[o.InstanceType]
	if t == nil {
		return 0, false
	}
	for i := range t.Offerings {
		if sold := &t.Offerings[i]; sold.Zone() == o.Zone && sold.CapacityType() == o.CapacityType {
			if !sold.PriceKnown() {
				return 0, false
			}
			return max(sold.Price, 0), true
		}
	}
	return 0, false
}

// Total is what nodes cost together.
type Total struct {
	// Dollars per hour are those of the Priced nodes. Unpriced is the number of nodes whose price is not known.
	Dollars          float64
	Priced, Unpriced int
	// Unknown are the offerings of the unpriced nodes, each once, in the order of the nodes.
	Unknown []Offering
}

// Known reports whether Dollars says anything: some price is known, or there are no nodes.
func (t Total) Known() bool { return t.Priced > 0 || t.Unpriced == 0 }

// Sum returns the total of nodes. Incomplete offerings are left out.
func (p Prices) Sum(nodes []Offering) Total {
	var out Total
	reported := map[Offering]bool{}
	for _, o := range nodes {
		if !o.Complete() {
			continue
		}
		price, known := p.Of(o)
		if known {
			out.Dollars += price
			out.Priced++
			continue
		}
		out.Unpriced++
		if !reported[o] {
			reported[o] = true
			out.Unknown = append(out.Unknown, o)
		}
	}
	return out
}
