package problem

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/cost"
)

// PoolPrices are the prices of the instance types that a cloud lists for a pool. The zero value has none.
type PoolPrices struct {
	prices cost.Prices
	names  map[string]bool
}

// PricesOf are the prices of instance types.
func PricesOf(types []*cloud.InstanceType) PoolPrices {
	names := make(map[string]bool, len(types))
	for _, t := range types {
		names[t.Name] = true
	}
	return PoolPrices{prices: cost.PricesOf(types), names: names}
}

// Of is the price of a node in dollars an hour; 0 when it is not known.
func (p PoolPrices) Of(n *model.Node) float64 {
	price, _ := p.Known(n)
	return price
}

// Known is the price of a node in dollars an hour; false when it is not known.
func (p PoolPrices) Known(n *model.Node) (dollars float64, known bool) {
	return p.prices.Of(cost.OfferingOf(n.Labels))
}

// Set sets the fields of a candidate that depend on prices.
func (p PoolPrices) Set(c *disrupt.Candidate) {
	c.Price = p.Of(c.Node)
	c.Pool.NoInstanceTypes = len(p.names) == 0
	c.TypeKnown = p.names[c.Node.Labels[corev1.LabelInstanceTypeStable]]
}
