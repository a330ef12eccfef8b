package solve

import (
	"github.com/karpenter-anew/karpenter/internal/core/bitset"
	"github.com/karpenter-anew/karpenter/internal/core/reason"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// Labels that a finished claim constrains on its own account.
const (
	instanceTypeKey = "node.kubernetes.io/instance-type"
	capacityTypeKey = "karpenter.sh/capacity-type"
)

// plan turns what the run did into a value.
func (s *solver) plan() Plan {
	var p Plan
	for _, t := range s.targets.list {
		if len(t.pods) > 0 {
			p.Placements = append(p.Placements, Placement{Node: t.node, Pods: t.pods, Devices: s.outcomesOn(t)})
		}
	}
	p.NodeClaims = make([]NodeClaim, 0, len(s.claims))
	menus := newMenus(s.problem.Options)
	for _, cl := range s.claims {
		s.pin(cl)
		s.sameDrivers(cl)
		done, unmet := s.finish(cl, menus)
		if len(unmet) > 0 {
			why := reason.Obstacle{Code: reason.MinValuesUnmet, Pool: cl.t.pool.Name, Keys: unmet, Truncated: true}
			p.Unschedulable = append(p.Unschedulable, UnschedulablePods{Pods: cl.pods(), Reasons: reason.Obstacles{why}})
			continue
		}
		p.NodeClaims = append(p.NodeClaims, done)
	}
	p.Deferred, p.Undecided = s.putOff, s.left
	return p
}

// refusals says of every pod that was refused why. It is to be asked before claims are split: counts go by machine.
func (s *solver) refusals() []UnschedulablePods {
	admitted := make([]bitset.Set, len(s.templates))
	if len(s.refused) > 0 {
		for i, t := range s.templates {
			admitted[i] = t.within(bitset.Full(t.columns.len()))
		}
	}
	out := make([]UnschedulablePods, 0, len(s.refused))
	for _, r := range s.refused {
		out = append(out, UnschedulablePods{Pods: r.pods, Reasons: s.why(r.class, r.pods[0], admitted)})
	}
	return out
}

// finish completes a claim: daemons are added once, and what the candidates imply is written into the requirements. Keys of
// which the cut to the longest list leaves too few distinct values are returned instead, unless the demand may be lowered.
func (s *solver) finish(cl *claim, menus *menus) (done NodeClaim, unmet []string) {
	t, st := cl.t, cl.t.states[cl.state]
	m := menus.of(cl)
	reqs := m.requirements
	if m.cut {
		if t.bestEffort {
			cl.lowered = cl.lower(st, m.columns)
		}
		if unmet = cl.unmet(st, m.columns); len(unmet) > 0 {
			return NodeClaim{}, unmet
		}
	}
	for key, n := range cl.lowered {
		reqs = reqs.Replace(reqs.Get(t.u.keys[key].name).WithMinValues(n))
	}
	return NodeClaim{
		Pool:             t.pool.Name,
		Pods:             cl.pods(),
		Requirements:     reqs,
		Labels:           m.labels,
		InstanceTypes:    m.names,
		Requests:         cl.total.Add(m.daemons),
		Price:            m.price,
		PriceOverlaid:    m.priceOverlaid,
		CapacityOverlaid: m.capacityOverlaid,
		MinValuesRelaxed: len(cl.lowered) > 0,
		Drivers:          s.driversOf(cl),
		Devices:          s.outcomesOf(cl),
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
