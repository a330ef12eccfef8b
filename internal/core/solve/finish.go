package solve

import (
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/place"
	"github.com/karpenter-anew/karpenter/internal/core/unschedulable"
)

// newPlan returns the plan of what was placed.
func newPlan(s *place.Placer) Plan {
	var p Plan
	for _, t := range s.Targets.List {
		if len(t.Pods) > 0 {
			p.Placements = append(p.Placements, Placement{Node: t.Node, Pods: t.Pods, Devices: s.OutcomesOn(t)})
		}
	}
	p.NodeClaims = make([]NodeClaim, 0, len(s.Open))
	cache := newLaunchOptionsCache(s.Problem.Options)
	for _, on := range s.Open {
		on.Pin(s.Classes)
		s.SameDrivers(on)
		done, unmet := finish(s, on, cache)
		if len(unmet) > 0 {
			why := unschedulable.Reason{Code: unschedulable.MinValuesUnmet, Pool: on.Template.Pool.Name, Keys: unmet, Truncated: true}
			p.Unschedulable = append(p.Unschedulable, UnschedulablePods{Pods: on.Pods(), Reasons: unschedulable.Reasons{why}})
			continue
		}
		p.NodeClaims = append(p.NodeClaims, done)
	}
	p.Deferred, p.Undecided = s.Deferred, s.Undecided
	return p
}

// finish completes an open node: daemons are added once, and what the candidates imply is written into the requirements.
// Keys of which the candidates that are left in the end have too few distinct values are returned instead, unless minValues may
// be relaxed: the API server would refuse the NodeClaim.
func finish(s *place.Placer, on *compile.OpenNode, cache *launchOptionsCache) (done NodeClaim, unmet []string) {
	t, st := on.Template, on.Template.States[on.State]
	m := cache.of(on)
	reqs := m.requirements
	if len(st.Minimums) > 0 {
		if t.BestEffort {
			on.RelaxedMinValues = on.RelaxMinValues(st, m.columns)
		}
		if unmet = on.Unmet(st, m.columns); len(unmet) > 0 {
			return NodeClaim{}, unmet
		}
	}
	for key, n := range on.RelaxedMinValues {
		reqs = reqs.Replace(reqs.Get(t.Universe.Keys[key].Name).WithMinValues(n))
	}
	reqs = reqs.And(on.InertRequirements(reqs))
	return NodeClaim{
		Pool:             t.Pool.Name,
		Pods:             on.Pods(),
		Requirements:     reqs,
		Labels:           m.labels,
		InstanceTypes:    m.names,
		Requests:         on.Total.Add(m.daemons),
		Price:            m.price,
		PriceOverlaid:    m.priceOverlaid,
		CapacityOverlaid: m.capacityOverlaid,
		MinValuesRelaxed: len(on.RelaxedMinValues) > 0,
		Drivers:          s.DriversOf(on),
		Devices:          s.OutcomesOf(on),
	}, nil
}

// customLabels gives every required custom key one concrete value, so that pods that require it find it on the node. A key
// that is only excluded is left off.
func customLabels(reqs requirement.Set, custom func(string) bool) map[string]string {
	labels := map[string]string{}
	for _, r := range reqs {
		if custom == nil || !custom(r.Key) || r.AllowsAbsence() {
			continue
		}
		if v := r.Any(); v != "" {
			labels[r.Key] = v
		}
	}
	return labels
}
