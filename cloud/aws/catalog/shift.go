package catalog

import (
	"cmp"
	"slices"
	"sync"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/instance"
)

// zoneIDs are the ids of zones by name, as far as classes have subnets there. The zero value is ready.
type zoneIDs struct {
	mu     sync.RWMutex
	byName map[string]string
}

// learn stores the zones of subnets.
func (z *zoneIDs) learn(subnets []awsv1.Subnet) {
	z.mu.Lock()
	defer z.mu.Unlock()
	if z.byName == nil {
		z.byName = map[string]string{}
	}
	for _, s := range subnets {
		if s.ZoneID != "" {
			z.byName[s.Zone] = s.ZoneID
		}
	}
}

// of is the ID of a zone; empty if it is unknown.
func (z *zoneIDs) of(zone string) string {
	z.mu.RLock()
	defer z.mu.RUnlock()
	return z.byName[zone]
}

// shiftedZones returns the ids of the zones of a class with an active zonal shift.
func (c *Catalog) shiftedZones(class *awsv1.EC2NodeClass) []string {
	c.zones.learn(class.Status.Subnets)
	return slices.DeleteFunc(c.Shifts.Zones(), func(id string) bool {
		return !slices.ContainsFunc(class.Status.Subnets, func(s awsv1.Subnet) bool { return s.ZoneID == id })
	})
}

// IsShifted reports whether a zonal shift is active in the zone of an instance.
func (c *Catalog) IsShifted(i *instance.Instance) bool {
	return c.Shifts.Shifted(cmp.Or(i.ZoneID, c.zones.of(i.Zone)))
}
