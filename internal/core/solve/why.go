package solve

import (
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/reason"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

// hugeCPU is a request of a million cores, in thousandths: almost certainly a mistyped unit.
const hugeCPU = 1_000_000 * 1000

// why says for every pool what stands between it and the class in its most yielding form.
func (s *solver) why(c *class) reason.Reasons {
	if len(s.problem.Pools) == 0 {
		return reason.Reasons{{Code: reason.NoPools}}
	}
	if len(s.templates) == 0 {
		return reason.Reasons{{Code: reason.PoolEmpty}}
	}
	var out reason.Reasons
	for _, t := range s.templates {
		r := s.whyNot(t, c, c.final)
		r.Pool = t.pool.Name
		if r.Code == reason.NoInstanceType || r.Code == reason.MinValuesUnmet {
			r.Resources = t.asked(c, s.problem.Resources)
		}
		out = append(out, r)
	}
	return out
}

// whyNot is the first obstacle between a class and a new machine of a pool, in the order in which a new claim is tested.
func (s *solver) whyNot(t *template, c *class, st *stage) reason.Reason {
	if r, ok := t.whyClosed(c, st); ok {
		return r
	}
	if r, ok := s.whyVolumes(t, c, st); ok {
		return r
	}
	if r, ok := s.whyDevices(t, c); ok {
		return r
	}
	if r, ok := s.whyTopology(t, c, st); ok {
		return r
	}
	form := st.conjunction
	for _, o := range s.options(c, st) {
		if i := slices.IndexFunc(o.forms, func(f *conjunction) bool { return t.step(t.root, f) != refused }); i >= 0 {
			form = o.forms[i]
			break
		}
	}
	return t.whyNoType(c, t.states[t.step(t.root, form)])
}

// whyClosed is what keeps the class from any machine of the pool.
func (t *template) whyClosed(c *class, st *stage) (reason.Reason, bool) {
	if t.limits.exhausted() {
		return reason.Reason{Code: reason.NodesExhausted}, true
	}
	if t.within(t.states[t.root].mask).empty() {
		return reason.Reason{Code: reason.LimitsExceeded}, true
	}
	if taint, repelled := t.repels(c, st); repelled {
		return reason.Reason{Code: reason.TaintNotTolerated, Taint: taint.String()}, true
	}
	if t.step(t.root, st.conjunction) == refused {
		return t.conflict(t.root, st.conjunction), true
	}
	return reason.Reason{}, false
}

// whyVolumes is the label that keeps all alternatives of the pods' volumes away from the pool.
func (s *solver) whyVolumes(t *template, c *class, st *stage) (reason.Reason, bool) {
	narrowed := t.step(t.root, st.conjunction)
	var last reason.Reason
	for _, reach := range c.shape.Reach {
		alternative := s.classes.intern(reach)
		if t.step(narrowed, alternative) != refused {
			return reason.Reason{}, false
		}
		last = t.conflict(narrowed, alternative)
	}
	if last.Conflict.Undefined {
		last.Conflict.Have = requirement.New(last.Conflict.Key, requirement.DoesNotExist)
	}
	last.Code = reason.VolumeUnreachable
	return last, len(c.shape.Reach) > 0
}

// whyNoType is what the instance types of a pool lack for a claim in the state next.
func (t *template) whyNoType(c *class, next *state) reason.Reason {
	within := t.within(t.states[t.root].mask).and(next.mask)
	reqs := t.requirements(next)
	if port, clash := t.portClash(c, within); clash {
		return reason.Reason{Code: reason.HostPortTaken, Port: port.String()}
	}
	candidates := t.open(within)
	if left := candidates.left(c, candidates.mask, 1); !left.empty() {
		unmet := t.unmet(next, left)
		return reason.Reason{Code: reason.MinValuesUnmet, Keys: unmet, Requirements: reqs}
	}
	return reason.Reason{
		Code:         reason.NoInstanceType,
		Criteria:     t.criteria(c, next, t.within(fullBitset(t.columns.len()))),
		Requirements: reqs,
		HugeCPU:      c.shape.Requests.At(resource.CPU) >= hugeCPU,
	}
}

// asked renders what a machine must have for the class: its requests and what daemons take, which may differ between the machines of a pool.
func (t *template) asked(c *class, names []string) string {
	least, most := t.daemonRange(t.states[t.root].mask)
	low := resource.Describe(c.shape.Requests.Add(least), names)
	high := resource.Describe(c.shape.Requests.Add(most), names)
	if low == high {
		return low
	}
	return "min=" + low + ", max=" + high
}

// portClash reports a port of the class that daemons claim on every candidate.
func (t *template) portClash(c *class, candidates bitset) (model.HostPort, bool) {
	if candidates.empty() || len(c.shape.HostPorts) == 0 || candidates.meets(t.portsFree(c)) {
		return model.HostPort{}, false
	}
	for column := range candidates.all() {
		return model.Clash(c.shape.HostPorts, t.daemonPorts[column])
	}
	return model.HostPort{}, false
}

// criteria judges labels, resources and offerings independently of each other, over the columns in scope.
func (t *template) criteria(c *class, next *state, scope bitset) reason.Criteria {
	fits := newBitset(t.columns.len())
	for column := range scope.all() {
		if c.count(t.room[column], nil, 1) > 0 {
			fits.set(column)
		}
	}
	labels, offers := next.labels.and(scope), next.offers.and(scope)
	return reason.Criteria{
		Requirements:             !labels.empty(),
		Resources:                !fits.empty(),
		Offering:                 !offers.empty(),
		RequirementsAndResources: labels.meets(fits),
		RequirementsAndOffering:  labels.meets(offers),
		ResourcesAndOffering:     fits.meets(offers),
	}
}

// conflict names the label that keeps the conjunction away from a claim in a state.
func (t *template) conflict(from stateID, c *conjunction) reason.Reason {
	root := t.states[from]
	var contradicting *requirement.Conflict
	for _, w := range c.terms {
		k, have := t.u.keys[w.key], root.get(w.key)
		switch {
		case !t.defined[w.key] && !k.wellKnown && !k.sets[w.set].AllowsAbsence():
			found := requirement.Conflict{Key: k.name, Undefined: true, Want: k.sets[w.set]}
			return reason.Reason{Code: reason.LabelUndefined, Conflict: found, Hint: t.hint(k.name)}
		case have != undefined && contradicting == nil && !k.join(have, w.set).overlap:
			contradicting = &requirement.Conflict{Key: k.name, Want: k.sets[w.set], Have: k.sets[have]}
		}
	}
	return reason.Reason{Code: reason.RequirementConflict, Conflict: *contradicting}
}

// hint is a label that the user may have meant: a known one that contains the key, or ends like it.
func (t *template) hint(key string) string {
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
