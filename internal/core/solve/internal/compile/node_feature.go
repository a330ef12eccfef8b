package compile

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// Declared features and CSI drivers are conditions on nodes that no label states. Few pods have any, so they are compared by name, like
// taints, and only for classes that have some. Source: KEP-5328, node declared features; KEP-5030, attach limits and missing drivers.

// expectFeatures gives nodes whose kubelet has not reported yet what nodes of their pool are expected to have.
func (ts *Targets) expectFeatures(pools []*model.Pool) {
	for _, t := range ts.List {
		if !t.Node.FeaturesExpected && !t.Node.DriversExpected {
			continue
		}
		if i := slices.IndexFunc(pools, func(p *model.Pool) bool { return p.Name == t.Node.Pool }); i >= 0 {
			t.pool = pools[i]
		}
	}
}

// missesFeatures reports whether the node lacks a declared feature or a CSI driver that pods of the class need.
func (t *Target) missesFeatures(c *Class) bool {
	for _, name := range c.Features {
		expected := t.Node.FeaturesExpected && t.pool != nil && slices.Contains(t.pool.NodeFeatures, name)
		if !expected && !slices.Contains(t.Node.NodeFeatures, name) {
			return true
		}
	}
	for _, driver := range c.Shape.InstalledDrivers {
		_, installed := t.Node.Attachable[driver]
		if !installed && (!t.Node.DriversExpected || t.pool != nil && slices.Contains(t.pool.LackedDrivers, driver)) {
			return true
		}
	}
	return false
}

// Lacking are the declared features and the CSI drivers that pods of the class need and nodes of the pool are expected to lack.
func Lacking(pool *model.Pool, c *Class) (features, drivers []string) {
	for _, name := range c.Features {
		if !slices.Contains(pool.NodeFeatures, name) {
			features = append(features, name)
		}
	}
	for _, driver := range c.Shape.InstalledDrivers {
		if slices.Contains(pool.LackedDrivers, driver) {
			drivers = append(drivers, driver)
		}
	}
	return features, drivers
}

// withoutFeatures reports whether nodes of the pool are expected to lack what pods of the class need.
func withoutFeatures(pool *model.Pool, c *Class) bool {
	if len(c.Features)+len(c.Shape.InstalledDrivers) == 0 {
		return false
	}
	features, drivers := Lacking(pool, c)
	return len(features)+len(drivers) > 0
}
