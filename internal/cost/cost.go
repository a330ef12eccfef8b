// Package cost says what machines cost: each was bought as some offering of an instance type, and the cloud names the price.
//
// Source: scheduling specification, other side stores; disruption specification, NodePool cost tracking.
package cost

import (
	"math"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// Offering is what a machine was bought as.
type Offering struct{ InstanceType, Zone, CapacityType string }

// OfferingOf is what the labels of a node, or of its NodeClaim, say about its offering.
func OfferingOf(labels map[string]string) Offering {
	return Offering{
		InstanceType: labels[corev1.LabelInstanceTypeStable],
		Zone:         labels[corev1.LabelTopologyZone],
		CapacityType: labels[v1.CapacityTypeLabelKey],
	}
}

// Complete reports whether it is known what the machine was bought as. Until a machine is launched it is not.
func (o Offering) Complete() bool {
	return o.InstanceType != "" && o.Zone != "" && o.CapacityType != ""
}

// Prices are the hourly prices of a pool, those of offerings that are sold out included. The zero value knows none.
type Prices struct {
	types map[string]*cloud.InstanceType
}

// PricesOf are the prices of the instance types that a cloud lists for a pool.
func PricesOf(types []*cloud.InstanceType) Prices {
	p := Prices{types: make(map[string]*cloud.InstanceType, len(types))}
	for _, t := range types {
		p.types[t.Name] = t
	}
	return p
}

// Of is the price of an offering, never negative; false when there is none to find.
func (p Prices) Of(o Offering) (dollars float64, known bool) {
	t := p.types[o.InstanceType]
	if t == nil {
		return 0, false
	}
	for i := range t.Offerings {
		if sold := &t.Offerings[i]; sold.Zone() == o.Zone && sold.CapacityType() == o.CapacityType {
			if math.IsNaN(sold.Price) {
				return 0, false
			}
			return max(sold.Price, 0), true
		}
	}
	return 0, false
}

// Sum is what machines cost together in an hour. Those without a price cost nothing and are listed, each offering once, in the
// order of the machines. Machines of which it is not known yet what they were bought as are left out.
func (p Prices) Sum(nodes []Offering) (dollars float64, unknown []Offering) {
	reported := map[Offering]bool{}
	for _, o := range nodes {
		if !o.Complete() {
			continue
		}
		price, known := p.Of(o)
		if !known && !reported[o] {
			reported[o] = true
			unknown = append(unknown, o)
		}
		dollars += price
	}
	return dollars, unknown
}
