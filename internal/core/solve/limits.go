package solve

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/unschedulable"
)

// LimitsUsedUp is why the limits of a pool leave nothing to launch beside its existing nodes, whatever the pod: the limits of which too little is
// left for each instance type, otherwise all of them. It is false if an instance type stays within the limits, and if there is nothing to launch
// without them either. nodes are those of the pool, names those of the resources. The cost is O(limits × (nodes + instance types)).
func LimitsUsedUp(pool *model.Pool, nodes []*model.Node, names []string) (unschedulable.Reason, bool) {
	types := slices.DeleteFunc(slices.Clone(pool.Catalog), func(t *catalog.InstanceType) bool { return !pool.CanLaunch(t) })
	if len(types) == 0 {
		return unschedulable.Reason{}, false
	}
	var alone, all []unschedulable.Limit
	within := make([]bool, len(types))
	for i := range within {
		within[i] = true
	}
	exhausted := false
	for r, name := range names {
		total, limited := pool.Limits[r]
		if !limited {
			continue
		}
		left, some := pool.Remaining(r, nodes), false
		for i, t := range types {
			fits := model.AmountOf(t.Capacity, r) <= left
			within[i], some = within[i] && fits, some || fits
		}
		all = append(all, unschedulable.Limit{
			Resource: name,
			Limit:    resource.FormatNamed(name, r, total),
			Used:     resource.FormatNamed(name, r, resource.SubSaturated(total, left)),
		})
		if !some {
			alone = append(alone, all[len(all)-1])
			exhausted = exhausted || r == resource.Nodes
		}
	}
	if slices.Contains(within, true) {
		return unschedulable.Reason{}, false
	}
	if alone == nil {
		alone = all
	}
	reason := unschedulable.OverLimits(alone, false)
	if reason.Pool = pool.Name; exhausted {
		reason.Code = unschedulable.NodesExhausted
	}
	return reason, true
}
