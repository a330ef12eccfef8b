package place

import (
	"math"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/device"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
)

// fitExtended makes o the offer of an open node for a pod with extended resources that devices may serve: that with the cheapest candidate
// among the ways in which the instance types serve these resources, and of equal ones that with the fewest devices. The offer is for one pod
// where it has devices, or where there are several ways.
func fitExtended(s *Placer, o *compile.Offer, b compile.Bin, c *compile.Class, forms []*compile.Conjunction, pods []*model.Pod) {
	t := b.Open.Template
	var ways []compile.Served
	for _, p := range c.Extended.Partitions(t.Columns) {
		if p.Columns.Intersects(b.Open.Mask) {
			ways = append(ways, p.By)
		}
	}
	if len(ways) != 1 || ways[0] != 0 {
		pods = pods[:1]
	}
	var best compile.Offer
	least, deferred := math.Inf(1), false
	for _, by := range ways {
		s.FitOpen(o, b, compile.ServedBy(c, by, pods[0]), forms, pods)
		if len(ways) == 1 {
			return
		}
		deferred = deferred || o.Deferred
		if o.Pods == 0 {
			continue
		}
		prices := t.Prices(t.States[o.State])
		for column := range o.Mask.All() {
			if prices[column] < least {
				least, best = prices[column], *o
				best.Mask = o.Mask.Clone()
			}
		}
	}
	if o.Reset(); best.Pods > 0 {
		mask := append(o.Mask, best.Mask...)
		*o = best
		o.Mask = mask
	}
	o.Deferred = deferred && o.Pods == 0
}

// countOnce takes instance types out of an offer that have the same hardware both as an extended resource and as devices, and of which pods
// would use both: a node offers only one of them.
func countOnce(s *Placer, o *compile.Offer, on *compile.OpenNode, c *compile.Class) {
	if s.Devices == nil || o.Pods == 0 || o.Devices == nil && on.Devices == "" {
		return
	}
	offered := s.Classes.OfferedClasses(on, c)
	if len(offered) == 0 {
		return
	}
	columns := on.Template.Columns
	kinds := s.Devices.among(columns, o.Mask)
	once := slices.DeleteFunc(slices.Clone(kinds), func(kind *device.Template) bool { return countsTwice(s.Devices, o, on, kind, offered) })
	if len(once) == len(kinds) {
		return
	}
	mask := o.Mask.And(s.Devices.having(columns, once))
	if mask.Empty() || len(on.Unmet(on.Template.States[o.State], mask)) > 0 {
		o.Reset()
		return
	}
	o.Mask = append(o.Mask[:0], mask...)
}

// countsTwice reports whether pods of an open node, with an offer, have devices of the template that belong to one of the classes.
func countsTwice(d *Devices, o *compile.Offer, on *compile.OpenNode, kind *device.Template, classes []model.ExtendedClass) bool {
	var grants []device.Grant
	if o.Devices != nil {
		grants = o.Devices.Grants(kind)
	}
	if on.Devices != "" {
		for _, made := range d.Allocations.Outcomes(on.Devices, kind) {
			grants = append(grants, made.Grants...)
		}
	}
	for _, class := range classes {
		if class.Selection == nil {
			continue
		}
		selected := kind.Selected(class.Selection)
		if slices.ContainsFunc(grants, func(g device.Grant) bool { return g.Template && selected[g.Device] }) {
			return true
		}
	}
	return false
}
