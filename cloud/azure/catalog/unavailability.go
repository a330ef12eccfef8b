package catalog

import (
	"context"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/choice"
)

// Reasons why offerings are not available. Those without a mark have no end that is known.
const (
	reasonMarked = "insufficient capacity or quota at an earlier launch"
	reasonQuota  = "the quota of the family has no vCPUs left for it"
	reasonNoSpot = "the SKU has no spot capacity"
)

// Unavailability implements cloud.UnavailabilityReader. It is the same for all pools.
func (c *Catalog) Unavailability(context.Context, *v1.NodePool) (func(*cloud.InstanceType, *cloud.Offering) cloud.Unavailability, error) {
	return func(t *cloud.InstanceType, o *cloud.Offering) cloud.Unavailability {
		d, known := c.SKU(t.Name)
		if o.Available || !known {
			return cloud.Unavailability{}
		}
		spot := o.CapacityType() == v1.CapacityTypeSpot
		switch until := c.UnavailableOfferings.Until(choice.Identity(&d), o.CapacityType(), o.Zone()); {
		case spot && !d.Spot:
			return cloud.Unavailability{Why: reasonNoSpot}
		case !spot && c.Quota.Exceeded(d.Family, d.VCPUs):
			return cloud.Unavailability{Why: reasonQuota}
		case !until.IsZero():
			return cloud.Unavailability{Until: until, Why: reasonMarked}
		}
		return cloud.Unavailability{}
	}, nil
}
