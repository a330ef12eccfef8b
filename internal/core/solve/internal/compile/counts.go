package compile

import (
	"math"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/index"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

// Counts is where pods are counted for topology: the groups with their counts, and the domains that they count in.
type Counts struct {
	u       *index.Universe
	groups  *Groups
	Domains *Domains
	targets *Targets
	// trials are the groups that count pods on bins of a trial.
	trials []*Group
}

func newCounts(u *index.Universe, groups *Groups, ts *Targets) *Counts {
	return &Counts{u: u, groups: groups, Domains: newDomains(u), targets: ts}
}

// Bin is what pods are put on: an existing node, an open one, or an open one of a trial, most of which are discarded.
type Bin struct {
	// Host is the bin's own domain of the hostname label, or uncounted.
	Host int
	// Number is the number of an open node in the run.
	Number int
	// Target is set for an existing node, open for any other.
	Target *Target
	Open   *OpenNode
}

// Uncounted is the host of bins whose pods are not counted. The pods of a part of an open node are among those of the whole:
// groups that count by host allow the part whenever they allow the whole.
const Uncounted = -1

// Add counts n pods of a class that were put on a bin. Where the domain is not decided, spread and affinity count nothing, since pods that
// spread can be bound first, and anti-affinity counts every domain that is possible. On bins of a trial only the groups that count by host do.
// Source: scheduling specification, recording.
func (ct *Counts) Add(b Bin, c *Class, n int) {
	switch {
	case b.Host == Uncounted || !c.counted():
	case b.Open != nil && b.Open.Trial:
		ct.addTrial(b.Host, c, n)
	default:
		for _, g := range c.members {
			if ct.looksAt(g.filter, b) {
				ct.addTo(g, b, c, n)
			}
		}
		for _, g := range c.guards() {
			ct.addTo(g, b, c, n)
		}
	}
}

func (ct *Counts) addTo(g *Group, b Bin, c *Class, n int) {
	if g.Host {
		g.Add(b.Host, n)
		return
	}
	possible, decided := ct.possible(b, g.Key)
	if g.late && ct.lacks(b, g.Key) {
		possible, decided = []int{ct.Domains.Of(g.Key).number(noZone)}, true
	}
	switch {
	case decided || g.Kind == topology.KindAnti:
		for _, d := range possible {
			ct.addIn(g, d, b, n)
		}
	case ct.uncertain(g, b, c):
		possible = ct.admitted(g, possible)
		for _, d := range possible {
			g.AddUncertain(d, n)
		}
		if b.Open != nil {
			b.Open.doubts = append(b.Open.doubts, doubt{g, possible, n})
		}
	}
}

// uncertain reports whether pods of the class on a bin count in every domain that is possible, as long as none is decided.
func (ct *Counts) uncertain(g *Group, b Bin, c *Class) bool {
	return g.Kind == topology.KindSpread && (g.severalLabels() || c.spreads()) && !ct.lacks(b, g.Key)
}

// admitted are those of some domains that the filter of the group admits. Pods that end up in another one do not count, which is no domain of
// the group, either.
func (ct *Counts) admitted(g *Group, domains []int) []int {
	if g.filter == nil || len(g.filter.alternatives) == 0 {
		return domains
	}
	return slices.DeleteFunc(slices.Clone(domains), func(d int) bool {
		return !slices.ContainsFunc(g.filter.alternatives, func(c *Conjunction) bool { return ct.Domains.Allowed(g.Key, c)(d) })
	})
}

// severalLabels reports whether the owners of the group have required spreads over several labels. For the sake of one of them, pods on a
// node that is open in another may have to be bound first: they can be anywhere by then.
func (g *Group) severalLabels() bool { return g.filter != nil && len(g.filter.keys) > 1 }

// spreads reports whether pods of the class have required spreads over domains other than hosts. If these count pods that count the
// class, either may have to be bound first.
func (c *Class) spreads() bool {
	return slices.ContainsFunc(c.Owns.Part(PartRequired), func(g *Group) bool { return g.Kind == topology.KindSpread && !g.Host })
}

// addIn counts n pods on a bin in a domain.
func (ct *Counts) addIn(g *Group, d int, b Bin, n int) {
	if ct.certainlyLooksAt(g.filter, b) {
		g.Add(d, n)
	} else {
		g.AddUncertain(d, n)
	}
}

func (ct *Counts) addTrial(host int, c *Class, n int) {
	for _, list := range c.Counting() {
		for _, g := range list {
			if !g.Host {
				continue
			}
			if !g.trial {
				g.trial = true
				ct.trials = append(ct.trials, g)
			}
			g.Add(host, n)
		}
	}
}

// EndTrials removes the counts on bins of trials, whose hosts are numbered from first.
func (ct *Counts) EndTrials(first int) {
	for _, g := range ct.trials {
		g.Truncate(first)
		g.trial = false
	}
	ct.trials = nil
}

// possible are the domains that a bin may end up in; decided is set when there is exactly one and it cannot change.
func (ct *Counts) possible(b Bin, key int) (domains []int, decided bool) {
	if b.Target == nil {
		on := b.Open
		st := on.Template.States[on.State]
		switch {
		case on.Template.lacks(st, key):
			return nil, false
		case on.Template.decided(st, key):
			domains = ct.Domains.Possible(key, st.Get(key))
			return domains, len(domains) == 1
		}
		return ct.OpenDomains(on, key), false
	}
	have := b.Target.get(key)
	if have == index.Undefined && b.Target.Node.Launched || ct.u.Keys[key].Lacked(have) {
		return nil, false // the labels of an existing node are fixed
	}
	domains = ct.Domains.Possible(key, have)
	return domains, len(domains) == 1 && have != index.Undefined
}

// OpenDomains are the domains that an open node may still end up in.
func (ct *Counts) OpenDomains(on *OpenNode, key int) []int {
	st := on.Template.States[on.State]
	if !on.Template.decided(st, key) {
		if names, ok := on.Template.values(key, st, on.Mask); ok {
			return ct.Domains.Of(key).numbers(names)
		}
	}
	return ct.Domains.Possible(key, st.Get(key))
}

// looksAt reports whether a spread with the filter may count pods on the bin: those on a node that is not launched may turn out not to
// count, see certainlyLooksAt.
func (ct *Counts) looksAt(f *NodeFilter, b Bin) bool {
	switch {
	case f == nil:
		return true
	case f.repels(b.taints()):
		return false
	case slices.ContainsFunc(f.keys, func(key int) bool { return ct.lacks(b, key) }):
		return false
	}
	return len(f.alternatives) == 0 || slices.ContainsFunc(f.alternatives, func(c *Conjunction) bool {
		switch {
		case b.Open != nil:
			return b.Open.Template.Compatible(b.Open.Template.States[b.Open.State], c.Terms)
		case b.Target.Node.Launched:
			return ct.targets.Satisfying(c).Has(b.Host)
		}
		return b.Target.maySatisfy(c, ct.u)
	})
}

// certainlyLooksAt reports whether a spread whose filter looks at the bin does so whatever the node is launched as. It does not where the
// owners of the spread select nodes by a label, such as the capacity type, that is still open.
func (ct *Counts) certainlyLooksAt(f *NodeFilter, b Bin) bool {
	if f == nil || len(f.alternatives) == 0 {
		return true
	}
	return slices.ContainsFunc(f.alternatives, func(c *Conjunction) bool {
		if b.Target != nil {
			return ct.targets.Satisfying(c).Has(b.Host)
		}
		return b.Open.certainlySatisfies(c)
	})
}

// lacks reports whether a node certainly has no such label.
func (ct *Counts) lacks(b Bin, key int) bool {
	if b.Target != nil {
		return nodeLacks(b.Target.Node, ct.u.Keys[key])
	}
	return b.Open.Template.lacks(b.Open.Template.States[b.Open.State], key)
}

// Taints are those of the node, or of the pool of an open one.
func (b Bin) Taints() []model.Taint {
	if b.Target != nil {
		return b.Target.Node.Taints
	}
	return b.Open.Template.Pool.Taints
}

// lacks reports whether a node of the template in the state certainly has no such label: nodes have the well-known ones, and those that the pool
// defines.
func (t *Template) lacks(st *State, key int) bool {
	return t.Universe.Keys[key].Lacked(st.Get(key)) && !t.Columns.Defines(key)
}

// taints are those of the bin that spreads honor.
func (b Bin) taints() []model.Taint {
	if b.Target != nil {
		return spreadTaints(b.Target.Node)
	}
	return b.Open.Template.Pool.Taints
}

// decided reports whether the state leaves one value for the label, whatever columns drop out.
func (t *Template) decided(st *State, key int) bool {
	set := st.Get(key)
	return set != index.Undefined && t.Universe.Keys[key].Single(set)
}

// HostCapacity is how many more pods of the class a host may take by the groups that count per host.
func (c *Class) HostCapacity(lv *Level, host int) int {
	for _, g := range c.AvoidHosts {
		if g.Count(host) > 0 {
			return 0
		}
	}
	capacity := math.MaxInt
	for _, o := range lv.Hosts {
		if o.IsAffinity() && o.Count(host) == 0 && o.Bootstraps(o.Self) {
			continue
		}
		capacity = min(capacity, o.AllowedOnHost(host, o.HostFloor, o.Self))
	}
	return capacity
}

// ForeignHostCapacity is how many more pods of the class an open node may take by the required spreads over hosts of the other pods there:
// these hold then whichever pods are bound first.
func (c *Class) ForeignHostCapacity(lv *Level, b Bin) int {
	capacity := math.MaxInt
	for _, g := range c.members {
		if c.foreignHosts(lv, g) && slices.ContainsFunc(b.Open.Batches, func(f Batch) bool { return slices.Contains(f.Class().Owns.Part(PartRequired), g) }) {
			capacity = min(capacity, g.AllowedOnHost(b.Host, 0, true))
		}
	}
	return capacity
}

// ForeignHosts reports whether required spreads over hosts of other pods count those of the class.
func (c *Class) ForeignHosts(lv *Level) bool {
	return slices.ContainsFunc(c.members, func(g *Group) bool { return c.foreignHosts(lv, g) })
}

func (c *Class) foreignHosts(lv *Level, g *Group) bool {
	return g.Host && g.required && g.Kind == topology.KindSpread && !slices.ContainsFunc(lv.Hosts, func(o Owned) bool { return o.Group == g })
}

// RequiresExisting reports whether pods of the level have to join others on an existing bin.
func (lv *Level) RequiresExisting() bool {
	_, ok := lv.AffineHosts()
	return ok
}

// AffineHosts are the hosts with the pods that pods of the level have an affinity to, or the one where all of these would start. ok is false
// when any host will do, because there is no such affinity or the first pod may choose.
func (lv *Level) AffineHosts() (hosts []int, ok bool) {
	for _, o := range lv.Hosts {
		if o.IsAffinity() && !o.Bootstraps(o.Self) {
			if only, found := o.onlyExpected(); found && o.MayBeFirst(o.Self) {
				return []int{only}, true
			}
			return o.Counted(), true
		}
	}
	return nil, false
}

// InDomains is the requirement of one of the domains.
func (ct *Counts) InDomains(key int, domains []int) requirement.Requirement {
	names := make([]string, len(domains))
	for i, d := range domains {
		names[i] = ct.Domains.Of(key).Names[d]
	}
	return requirement.New(ct.u.Keys[key].Name, requirement.In, names...)
}

// Blocked are the domains of a label that are closed to the class by the anti-affinity of other pods.
func (c *Class) Blocked(key int) []int {
	var out []int
	for _, g := range c.Avoid {
		if g.Key == key {
			out = append(out, g.Counted()...)
			if t := g.counting(); t != nil {
				out = append(out, t.expected()...)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
