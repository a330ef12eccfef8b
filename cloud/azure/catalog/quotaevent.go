package catalog

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/api/azure/label"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/telemetry"
)

// quotaEvery is how often it is checked whether quotas prevent all nodes of a pool.
const quotaEvery = time.Minute

// tellQuota publishes an event if nodes of a pool cannot be launched because quotas of families are used up, or are 0: no offering that it allows can be
// launched, and some of them only for that reason. Otherwise pods would only learn that offerings are unavailable.
func (c *Catalog) tellQuota(pool *v1.NodePool, types []*cloud.InstanceType) {
	key := string(pool.UID)
	if _, checked := c.quotaChecked.Get(key); checked || c.Publish == nil {
		return
	}
	c.quotaChecked.Set(key, true)
	if families := c.familiesWithoutQuota(pool, types); len(families) > 0 {
		c.Publish(telemetry.QuotaExceeded(pool, families))
	}
}

// familiesWithoutQuota are the families that a pool allows and whose quota allows no further on-demand node, in order; none if the pool allows any
// offering that can be launched.
func (c *Catalog) familiesWithoutQuota(pool *v1.NodePool, types []*cloud.InstanceType) []string {
	rules := label.Rules()
	want := cloud.Requirements(pool.Spec.Template.Spec.Requirements, rules)
	// Instance types name the zones and capacity types of available offerings only.
	ofType := want.Without(corev1.LabelTopologyZone, v1.CapacityTypeLabelKey)
	var out []string
	for _, t := range types {
		if !ofType.Compatible(cloud.Requirements(t.Requirements, rules).Without(corev1.LabelTopologyZone, v1.CapacityTypeLabelKey), rules.AllowsUndefined) {
			continue
		}
		d, known := c.SKU(t.Name)
		exceeded := known && c.Quota.Exceeded(d.Family, d.VCPUs)
		for i := range t.Offerings {
			o := &t.Offerings[i]
			if !want.Compatible(cloud.Requirements(o.Requirements, rules), rules.AllowsUndefined) {
				continue
			}
			if o.Launchable() {
				return nil
			}
			if exceeded && o.CapacityType() == v1.CapacityTypeOnDemand {
				out = append(out, d.Family)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
