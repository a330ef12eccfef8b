package solve

import (
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/bitset"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/reason"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

// hugeCPU is a request of a million cores, in thousandths: almost certainly a mistyped unit.
const hugeCPU = 1_000_000 * 1000

// UnschedulablePods are pods that fit nowhere for the same reasons.
type UnschedulablePods struct {
	Pods    []*model.Pod
	Reasons reason.Obstacles
}

// refusals says of every pod that was refused why. It is to be asked before claims are split: counts go by machine.
func diagnoseAll(s *placer) []UnschedulablePods {
	admitted := make([]bitset.Set, len(s.templates))
	if len(s.unschedulable) > 0 {
		for i, t := range s.templates {
			admitted[i] = t.within(bitset.Full(t.columns.len()))
		}
	}
	out := make([]UnschedulablePods, 0, len(s.unschedulable))
	for _, r := range s.unschedulable {
		out = append(out, UnschedulablePods{Pods: r.pods, Reasons: diagnosis{s}.why(r.class, r.pods[0], admitted)})
	}
	return out
}

// diagnosis finds out why pods fit nowhere.
type diagnosis struct{ *placer }

// why says for every pool what stands between it and a pod of the class in its most yielding form; admitted are the columns
// that the limits of each template admit.
func (s diagnosis) why(c *class, pod *model.Pod, admitted []bitset.Set) reason.Obstacles {
	if len(s.problem.Pools) == 0 {
		return reason.Obstacles{{Code: reason.NoPools}}
	}
	if len(s.templates) == 0 {
		return s.whyEmpty()
	}
	var out reason.Obstacles
	for i, t := range s.templates {
		r := s.whyNot(&poolFilter{t: t, c: c, pod: pod, resources: s.problem.Resources, admitted: admitted[i]}, c.final)
		r.Pool = t.pool.Name
		if r.HasRequest() {
			r.Resources = requests(t, c, s.problem.Resources)
		}
		out = append(out, r)
	}
	return out
}

// whyEmpty is the obstacle where no pool has anything to launch.
func (s diagnosis) whyEmpty() reason.Obstacles {
	var out reason.Obstacles
	for _, t := range s.unlaunchable {
		out = append(out, reason.Obstacle{Code: reason.PoolEmpty, Pool: t.pool.Name, UnavailableOfferings: unavailableOfferings(t)})
	}
	if len(out) == 0 {
		out = reason.Obstacles{{Code: reason.PoolEmpty}}
	}
	return out
}

// whyNot is the first obstacle between a pod and a new machine of a pool. What no other limit would help against comes before
// the limits; the rest is in the order in which a new claim is tested.
func (s diagnosis) whyNot(v *poolFilter, st *level) reason.Obstacle {
	t, c := v.t, v.c
	if r, ok := v.whyClosed(st); ok {
		return r
	}
	if r, ok := s.whyVolumes(t, c, st); ok {
		return r
	}
	if r, ok := s.whyDevices(v, st); ok {
		return r
	}
	if r, ok := s.whyTopology(t, c, st); ok {
		return r
	}
	var first reason.Obstacle
	for _, o := range s.options(nil, c, st) {
		for _, form := range o.forms {
			to := t.step(t.root, form)
			if to == noState {
				continue
			}
			r := v.why(t.states[to])
			if r.Code != reason.NoInstanceType {
				return r
			}
			if first.Code == "" {
				first = r
			}
		}
	}
	if first.Code == "" {
		return v.why(t.states[t.step(t.root, st.conjunction)])
	}
	return first
}

// whyClosed is what keeps the pod from any machine of the pool.
func (s *poolFilter) whyClosed(st *level) (reason.Obstacle, bool) {
	t := s.t
	taint, repelled := t.repels(s.c, st)
	to := t.step(t.root, st.conjunction)
	switch {
	case repelled:
		return reason.Obstacle{Code: reason.TaintNotTolerated, Taint: taint.String()}, true
	case to == noState:
		return conflict(t, t.root, st.conjunction), true
	case t.limits.exhausted(), !s.admitted.Intersects(t.states[t.root].mask):
		s.runTests()
		next := t.states[to]
		would := next.mask.And(s.portFree).And(s.attaching).And(s.fits)
		r := reason.Obstacle{Code: reason.LimitsExceeded, Limits: s.limits(would, next)}
		if t.limits.exhausted() {
			r.Code = reason.NodesExhausted
		}
		return r, true
	}
	return reason.Obstacle{}, false
}

// whyVolumes is the label that keeps all alternatives of the pods' volumes away from the pool.
func (s diagnosis) whyVolumes(t *template, c *class, st *level) (reason.Obstacle, bool) {
	narrowed := t.step(t.root, st.conjunction)
	var last reason.Obstacle
	for _, reach := range c.shape.VolumeTopology {
		alternative := s.classes.intern(reach)
		if t.step(narrowed, alternative) != noState {
			return reason.Obstacle{}, false
		}
		last = conflict(t, narrowed, alternative)
	}
	if last.Conflict.Undefined {
		last.Conflict.Have = requirement.New(last.Conflict.Key, requirement.DoesNotExist)
	}
	last.Code = reason.VolumeUnreachable
	return last, len(c.shape.VolumeTopology) > 0
}

// asked renders what a machine must have for the class: its requests and what daemons take, which may differ between the machines of a pool.
func requests(t *template, c *class, names []string) string {
	least, most := t.daemonRange(t.states[t.root].mask)
	low := resource.Describe(c.shape.Requests.Add(least), names)
	high := resource.Describe(c.shape.Requests.Add(most), names)
	if low == high {
		return low
	}
	return "min=" + low + ", max=" + high
}

// conflict names the label that keeps the conjunction away from a claim in a state.
func conflict(t *template, from stateID, c *conjunction) reason.Obstacle {
	root := t.states[from]
	var contradicting *requirement.Conflict
	for _, w := range c.terms {
		k, have := t.u.keys[w.key], root.get(w.key)
		switch {
		case !t.defined[w.key] && !k.wellKnown && !k.sets[w.set].AllowsAbsence():
			found := requirement.Conflict{Key: k.name, Undefined: true, Want: k.sets[w.set]}
			return reason.Obstacle{Code: reason.LabelUndefined, Conflict: found, Hint: hint(t, k.name)}
		case have != undefined && contradicting == nil && !k.join(have, w.set).overlap:
			contradicting = &requirement.Conflict{Key: k.name, Want: k.sets[w.set], Have: k.sets[have]}
		}
	}
	return reason.Obstacle{Code: reason.RequirementConflict, Conflict: *contradicting}
}

// hint is a label that the user may have meant: a known one that contains the key, or ends like it.
func hint(t *template, key string) string {
	name := key[strings.LastIndexByte(key, '/')+1:]
	best := ""
	for _, k := range t.u.keys {
		known := k.wellKnown || t.states[t.root].get(t.u.index[k.name]) != undefined
		if !known || k.name == key || k.name == hostnameKey || k.name == registeredKey || k.name == initializedKey {
			continue
		}
		if (strings.Contains(k.name, key) || strings.HasSuffix(k.name, name)) && (best == "" || k.name < best) {
			best = k.name
		}
	}
	return best
}
