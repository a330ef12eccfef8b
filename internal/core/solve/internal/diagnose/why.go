// Package diagnose finds out why pods fit nowhere: for every pool the reason why it does not take the pod.
package diagnose

import (
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/bitset"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/index"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/place"
	"github.com/karpenter-anew/karpenter/internal/core/unschedulable"
)

// hugeCPU is a request of a million cores, in thousandths: almost certainly a mistyped unit.
const hugeCPU = 1_000_000 * 1000

// UnschedulablePods are pods that fit nowhere for the same reasons.
type UnschedulablePods struct {
	Pods    []*model.Pod
	Reasons unschedulable.Reasons
}

// DiagnoseAll finds out why each of the unschedulable pods fits nowhere. It is called before repacking: counts go by host.
func DiagnoseAll(s *place.Placer) []UnschedulablePods {
	admitted := make([]bitset.Set, len(s.Templates))
	if len(s.Unschedulable) > 0 {
		for i, t := range s.Templates {
			admitted[i] = t.Within(bitset.Full(t.Columns.Len()))
		}
	}
	d := diagnosis{s, map[string][]string{}, map[int]map[string]taintSets{}, map[spreadOfLevel][]unschedulable.UnreachableDomain{}, map[int]unschedulable.Reason{}}
	out := make([]UnschedulablePods, 0, len(s.Unschedulable))
	for i, r := range s.Unschedulable {
		out = append(out, UnschedulablePods{Pods: r.Pods, Reasons: d.why(r.Class, i, r.Pods[0], admitted)})
	}
	return out
}

// diagnosis finds out why pods fit nowhere.
type diagnosis struct {
	*place.Placer
	// known are the values that labels have, by key.
	known map[string][]string
	// populations are the different taints of existing nodes, by number of a key, value of the label, and their text.
	populations map[int]map[string]taintSets
	// limiting are the domains that unreachable has found: they are the same against each pool.
	limiting map[spreadOfLevel][]unschedulable.UnreachableDomain
	// empty are the reasons of the pools without anything to launch, by their number.
	empty map[int]unschedulable.Reason
}

// spreadOfLevel is a spread of the pods of a level.
type spreadOfLevel struct {
	level *compile.Level
	group *compile.Group
}

// why is the reason of every pool, the nearest first, against a pod of the class in its most relaxed form; admitted are the columns
// that the limits of each template admit. number is that of the class among the unschedulable ones.
func (s diagnosis) why(c *compile.Class, number int, pod *model.Pod, admitted []bitset.Set) unschedulable.Reasons {
	if r, ok := named(c.Final); ok {
		return unschedulable.Reasons{r}
	}
	if len(s.Problem.Pools) == 0 {
		return append(unschedulable.Reasons{{Code: unschedulable.NoPools}}, s.whyUnused(c)...)
	}
	if len(s.Templates) == 0 {
		return append(s.whyEmpty(), s.whyUnused(c)...)
	}
	unknown := s.unknownValues(c, number)
	var out unschedulable.Reasons
	for i, t := range s.Templates {
		r := s.whyNot(&poolFilter{t: t, c: c, pod: pod, resources: s.Problem.Resources, admitted: admitted[i]}, c.Final)
		r.Pool = t.Pool.Name
		if r.HasRequest() {
			r.Resources = requests(t, c, s.Problem.Resources)
		}
		out = append(out, withUnknownValues(r, unknown))
	}
	// What is in the way of the pod in pools that launch nodes may be in its way in these pools too.
	out = append(append(out, s.whyEmptyFor(c)...), s.whyUnused(c)...)
	return out.NearestFirst()
}

// named is the reason that a level requires an existing node by its name. The last alternative only does if all do: see translate.
func named(lv *compile.Level) (unschedulable.Reason, bool) {
	i, ok := lv.Conjunction.Set.Find(requirement.NodeName)
	if !ok || lv.Conjunction.Set[i].AllowsAbsence() {
		return unschedulable.Reason{}, false
	}
	found := requirement.Conflict{Key: requirement.NodeName, Undefined: true, Want: lv.Conjunction.Set[i]}
	return unschedulable.Reason{Code: unschedulable.NodeNamed, Conflict: found}, true
}

// whyNot is the first reason why no new node of a pool takes a pod. Reasons that higher limits would not remove come before
// the limits; the rest is in the order in which a new open node is tested.
func (s diagnosis) whyNot(v *poolFilter, st *compile.Level) unschedulable.Reason {
	if r, ok := v.whyAll(st); ok {
		return r
	}
	r := s.whyNode(v, st)
	if v.closed() && !r.OverLimits() {
		r.Limits = v.limits(bitset.New(v.t.Columns.Len()), v.t.States[v.t.Root])
	}
	return r
}

// whyNode is the reason against the pod on nodes of a pool that takes such pods in general.
func (s diagnosis) whyNode(v *poolFilter, st *compile.Level) unschedulable.Reason {
	t, c := v.t, v.c
	if r, ok := s.whyVolumes(t, c, st); ok {
		return r
	}
	if r, ok := s.whyDevices(v, st); ok {
		return r
	}
	v.c = compile.Plain(c) // no device serves it: the resources have to be offered
	c = v.c
	if g := s.whyTopology(t, c, st); g != nil {
		r := s.unsatisfiable(t, st, g)
		if v.closed() && r.Topology.Unplaced(g.IsAffinity()) {
			// The pods that the affinity names may be those that the limits keep out.
			return v.overLimits(bitset.New(t.Columns.Len()), t.States[t.Root])
		}
		return r
	}
	if r, ok := s.whyDaemons(v, st); ok {
		return r
	}
	r := s.whyEmptyNode(v, st)
	g := s.Daemons.Blames(c)
	switch {
	case g != nil && r.Code == unschedulable.MinValuesUnmet && len(r.Keys) == 0:
		return s.unsatisfiable(t, st, g) // an empty node would do, if there were no pods of DaemonSets on it or elsewhere
	case r.OverLimits() && (g != nil || len(c.DeviceClaims) > 0):
		return r.WithoutNeeded() // the pods of DaemonSets, or devices, may be in the way of the node
	}
	return r
}

// whyEmptyNode is the reason against the pod on an empty node of the pool.
func (s diagnosis) whyEmptyNode(v *poolFilter, st *compile.Level) unschedulable.Reason {
	t, c := v.t, v.c
	var first unschedulable.Reason
	for _, o := range s.Options(nil, c, st) {
		for _, form := range o.Forms {
			to := t.Step(t.Root, form)
			if to == compile.NoState {
				continue
			}
			r := v.why(t.States[to])
			if r.Code != unschedulable.NoInstanceType {
				return r
			}
			if first.Code == "" {
				first = r
			}
		}
	}
	if first.Code == "" {
		return v.why(t.States[t.Step(t.Root, st.Conjunction)])
	}
	return first
}

// whyDaemons is the anti-affinity between the pod and a DaemonSet that runs wherever the pod fits.
func (s diagnosis) whyDaemons(v *poolFilter, st *compile.Level) (unschedulable.Reason, bool) {
	next := v.t.States[v.t.Step(v.t.Root, st.Conjunction)]
	would := v.sufficient(next)
	if within := would.And(v.admitted); !within.Empty() {
		would = within
	}
	if would.Empty() {
		return unschedulable.Reason{}, false
	}
	by := v.t.AwayFromDaemons(would, next, v.c)
	if by == nil || !would.Empty() {
		return unschedulable.Reason{}, false
	}
	return s.unsatisfiable(v.t, st, by), true
}

// whyAll is the reason against the pod on all nodes of the pool, whatever their instance types.
func (s *poolFilter) whyAll(st *compile.Level) (unschedulable.Reason, bool) {
	t := s.t
	if features, drivers := compile.Lacking(t.Pool, s.c); len(features) > 0 {
		return unschedulable.Reason{Code: unschedulable.FeatureMissing, Features: features}, true
	} else if len(drivers) > 0 {
		return unschedulable.Reason{Code: unschedulable.DriverMissing, Features: drivers}, true
	}
	if taint, repelled := t.Repels(s.c, st); repelled {
		return unschedulable.Reason{Code: unschedulable.TaintNotTolerated, Taint: taint.String()}, true
	}
	if t.Step(t.Root, st.Conjunction) == compile.NoState {
		return conflict(t, t.Root, st.Conjunction), true
	}
	return unschedulable.Reason{}, false
}

// whyVolumes is the label on which all alternatives of the pods' volumes conflict with the pool.
func (s diagnosis) whyVolumes(t *compile.Template, c *compile.Class, st *compile.Level) (unschedulable.Reason, bool) {
	narrowed := t.Step(t.Root, st.Conjunction)
	var last unschedulable.Reason
	for _, reach := range c.Shape.VolumeTopology {
		alternative := s.Classes.Intern(reach)
		if t.Step(narrowed, alternative) != compile.NoState {
			return unschedulable.Reason{}, false
		}
		last = conflict(t, narrowed, alternative)
	}
	if last.Conflict.Undefined {
		last.Conflict.Have = requirement.New(last.Conflict.Key, requirement.DoesNotExist)
	}
	last.Code = unschedulable.VolumeUnreachable
	return last, len(c.Shape.VolumeTopology) > 0
}

// requests renders the capacity that a node needs for the class: its requests and those of daemons, which may differ
// between the instance types of a pool.
func requests(t *compile.Template, c *compile.Class, names []string) string {
	next := t.States[t.Root]
	if to := t.Step(t.Root, c.Final.Conjunction); to != compile.NoState {
		next = t.States[to]
	}
	least, most := t.CapacityIn(next).DaemonRange(t.States[t.Root].Mask)
	low := resource.Describe(c.Shape.Requests.Add(least), names, c.Shape.Unoffered...)
	high := resource.Describe(c.Shape.Requests.Add(most), names, c.Shape.Unoffered...)
	if low == high {
		return low
	}
	return "min=" + low + ", max=" + high
}

// conflict names the label by which the conjunction contradicts an open node in a state.
func conflict(t *compile.Template, from compile.StateID, c *compile.Conjunction) unschedulable.Reason {
	root := t.States[from]
	var contradicting *requirement.Conflict
	for _, w := range c.Terms {
		k, have := t.Universe.Keys[w.Key], root.Get(w.Key)
		switch {
		case !t.Defined[w.Key] && !k.WellKnown && !k.Sets[w.Set].AllowsAbsence():
			found := requirement.Conflict{Key: k.Name, Undefined: true, Want: k.Sets[w.Set]}
			return unschedulable.Reason{Code: unschedulable.LabelUndefined, Conflict: found, Hint: hint(t, k.Name)}
		case have != index.Undefined && contradicting == nil && !k.Join(have, w.Set).Overlap:
			contradicting = &requirement.Conflict{Key: k.Name, Want: k.Sets[w.Set], Have: k.Sets[have]}
		}
	}
	if contradicting == nil {
		return unschedulable.Reason{Code: unschedulable.TooManyRequirements}
	}
	return unschedulable.Reason{Code: unschedulable.RequirementConflict, Conflict: *contradicting}
}

// hint is a label that the user may have meant: a known one that contains the key or ends like it, or that is nearly equal to it.
func hint(t *compile.Template, key string) string {
	name := key[strings.LastIndexByte(key, '/')+1:]
	best := ""
	var labels []string
	for _, k := range t.Universe.Keys {
		known := k.WellKnown || t.States[t.Root].Get(t.Universe.Index[k.Name]) != index.Undefined
		if !known || k.Name == key || k.Name == compile.HostnameKey || k.Name == compile.RegisteredKey || k.Name == compile.InitializedKey {
			continue
		}
		labels = append(labels, k.Name)
		if (strings.Contains(k.Name, key) || strings.HasSuffix(k.Name, name)) && (best == "" || k.Name < best) {
			best = k.Name
		}
	}
	if best == "" {
		best = unschedulable.Meant(key, labels)
	}
	return best
}
