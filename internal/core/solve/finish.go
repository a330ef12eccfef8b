package solve

import (
	"github.com/karpenter-anew/karpenter/internal/core/reason"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// newPlan turns what was placed into a value.
func newPlan(s *placer) Plan {
	var p Plan
	for _, t := range s.targets.list {
		if len(t.pods) > 0 {
			p.Placements = append(p.Placements, Placement{Node: t.node, Pods: t.pods, Devices: s.outcomesOn(t)})
		}
	}
	p.NodeClaims = make([]NodeClaim, 0, len(s.open))
	menus := newLaunchOptionsCache(s.problem.Options)
	for _, on := range s.open {
		on.pin(s.classes)
		s.sameDrivers(on)
		done, unmet := finish(s, on, menus)
		if len(unmet) > 0 {
			why := reason.Obstacle{Code: reason.MinValuesUnmet, Pool: on.t.pool.Name, Keys: unmet, Truncated: true}
			p.Unschedulable = append(p.Unschedulable, UnschedulablePods{Pods: on.pods(), Reasons: reason.Obstacles{why}})
			continue
		}
		p.NodeClaims = append(p.NodeClaims, done)
	}
	p.Deferred, p.Undecided = s.deferred, s.undecided
	return p
}

// finish completes a claim: daemons are added once, and what the candidates imply is written into the requirements. Keys of
// which the cut to the longest list leaves too few distinct values are returned instead, unless the demand may be lowered.
func finish(s *placer, on *openNode, menus *launchOptionsCache) (done NodeClaim, unmet []string) {
	t, st := on.t, on.t.states[on.state]
	m := menus.of(on)
	reqs := m.requirements
	if m.cut {
		if t.bestEffort {
			on.relaxedMinValues = on.relaxMinValues(st, m.columns)
		}
		if unmet = on.unmet(st, m.columns); len(unmet) > 0 {
			return NodeClaim{}, unmet
		}
	}
	for key, n := range on.relaxedMinValues {
		reqs = reqs.Replace(reqs.Get(t.u.keys[key].name).WithMinValues(n))
	}
	return NodeClaim{
		Pool:             t.pool.Name,
		Pods:             on.pods(),
		Requirements:     reqs,
		Labels:           m.labels,
		InstanceTypes:    m.names,
		Requests:         on.total.Add(m.daemons),
		Price:            m.price,
		PriceOverlaid:    m.priceOverlaid,
		CapacityOverlaid: m.capacityOverlaid,
		MinValuesRelaxed: len(on.relaxedMinValues) > 0,
		Drivers:          s.driversOf(on),
		Devices:          s.outcomesOf(on),
	}, nil
}

// customLabels gives every custom key that has to be there one concrete value, so that pods that ask for it find it on the
// node. A key that is only excluded is left off.
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
