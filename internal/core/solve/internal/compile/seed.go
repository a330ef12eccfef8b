package compile

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// Seed adds the domains to every group and counts the running pods. It is called once all groups are known.
func (r *Run) Seed() {
	if len(r.Groups.list) == 0 {
		return
	}
	ct := r.Counts
	r.Classes.Universe.Key(HostnameKey)
	moving := r.Problem.Moving() // they are placed anew and must not count twice
	ct.addDomains(r.reachable())
	for i, t := range r.Targets.List {
		ct.addNode(t.Node, i, nil, moving)
	}
	for _, n := range r.Problem.ExcludedNodes {
		ct.addNode(n, notPlaceable, r.Problem.DrainTaints, moving)
	}
	ct.addNoZone(r.Templates)
	r.findClosed()
	r.restrictLate()
	r.seedDaemons()
}

// reachable are the templates of which a node starts, or of which some pod tolerates the taints: the others open no node. kube-scheduler counts
// the domains of nodes that exist, tainted or not, so that a domain which only the others offer counts once one of their nodes is there.
func (r *Run) reachable() []*Template {
	tainted := func(t *Template) bool { return len(t.Pool.Taints) > 0 }
	if !slices.ContainsFunc(r.Templates, tainted) {
		return r.Templates
	}
	starts := map[string]bool{}
	for _, t := range r.Targets.List {
		if t.Node.NodeName == "" {
			starts[t.Node.Pool] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(r.Templates), func(t *Template) bool {
		return tainted(t) && !starts[t.Pool.Name] && !slices.ContainsFunc(r.Classes.list, func(c *Class) bool {
			_, repelled := model.Untolerated(t.Pool.Taints, c.Shape.Tolerations, true)
			return !repelled
		})
	})
}

// span is the values of a label that new nodes of one template can have, in the state of an empty node that some requirements leave.
type span struct {
	t      *Template
	st     *State
	values []string
}

// spans are those of the templates that can launch nodes with the requirements of a conjunction; nil requires nothing.
func spans(templates []*Template, key int, c *Conjunction) []span {
	var out []span
	for _, t := range templates {
		st, ok := t.States[t.Root], true
		if c != nil {
			st, ok = emptyState(t, c)
		}
		if ok {
			names, _ := t.values(key, st, st.Mask)
			out = append(out, span{t, st, names})
		}
	}
	return out
}

// notPlaceable stands for the number of nodes that receive no pods.
const notPlaceable = -1

// addDomains adds the domains that new nodes can be in to every group: those of nodes that count for it.
func (ct *Counts) addDomains(templates []*Template) {
	type question struct {
		key int
		c   *Conjunction
	}
	known := map[question][]span{}
	for _, g := range ct.groups.list {
		if g.Host {
			continue
		}
		v := ct.Domains.Of(g.Key)
		for _, c := range g.filter.required() {
			asked := question{g.Key, c}
			if _, ok := known[asked]; !ok {
				known[asked] = spans(templates, g.Key, c)
			}
			for _, sp := range known[asked] {
				if !g.filter.admits(sp) {
					continue
				}
				for _, name := range sp.values {
					g.AddDomain(v.number(name))
				}
			}
		}
	}
}

// required are the alternatives of what the filter requires of labels; a single nil for nothing.
func (f *NodeFilter) required() []*Conjunction {
	if f == nil || len(f.alternatives) == 0 {
		return []*Conjunction{nil}
	}
	return f.alternatives
}

// admits reports whether taints and missing labels do not keep the filter from counting new nodes.
func (f *NodeFilter) admits(sp span) bool {
	return f == nil || (!f.honorTaints || f.tolerates(sp.t.Pool.Taints)) &&
		!slices.ContainsFunc(f.keys, func(key int) bool { return sp.t.lacks(sp.st, key) })
}

// addNode makes the labels of a node domains and counts its pods. host is the node's number, or notPlaceable. The node has the taints of
// its drain besides its own.
func (ct *Counts) addNode(n *model.Node, host int, drain []model.Taint, moving map[string]bool) {
	at := ct.domainsOf(n)
	for _, g := range ct.groups.list {
		if g.Host || n.NodeName == "" {
			continue
		}
		if d := at[g.Key]; d != noDomain && !g.Known(d) && ct.counts(g, n) && !g.filter.repels(drain) {
			g.AddDomain(d)
		}
	}
	at[ct.u.Key(HostnameKey)] = host
	ct.eachCounted(n, moving, func(g *Group, _ *model.Pod) {
		switch d := at[g.Key]; {
		case d == noDomain && g.late:
			ct.addLate(g, n)
		case d == noDomain || !ct.counts(g, n) || g.filter.repels(drain):
		case d == notPlaceable:
			g.AddElsewhere()
		case host == notPlaceable: // the pod is gone once the node is
			g.AddUncertain(d, 1)
		default:
			g.Add(d, 1)
		}
	})
}

// removeNode removes the pods of a node, whose number is host, from the counts. Pods that are not moving stay counted, on a
// node that receives no pods, unless the taints of its drain exclude it. The domains of the node stay: that one of them may be gone is
// left out, which forbids more than kube-scheduler does.
func (ct *Counts) removeNode(n *model.Node, host int, drain []model.Taint, waiting, moving map[string]bool) {
	at := ct.domainsOf(n)
	ct.eachCounted(n, waiting, func(g *Group, p *model.Pod) {
		gone := moving[p.UID] || g.filter.repels(drain)
		switch d := at[g.Key]; {
		case !ct.counts(g, n):
		case g.Host:
			g.Remove(host)
			if !gone {
				g.AddElsewhere()
			}
		case gone && d >= 0:
			g.Remove(d)
		case d >= 0: // the pod is gone once the node is
			g.Doubt(d, 1)
		}
	})
}

// eachCounted yields the pods of a node, without some, each with every group that counts it.
func (ct *Counts) eachCounted(n *model.Node, without map[string]bool, yield func(*Group, *model.Pod)) {
	for _, p := range n.Pods {
		if p.Terminating || without[p.UID] {
			continue
		}
		for _, g := range ct.groups.membership(p).members {
			yield(g, p)
		}
		for _, g := range ct.groups.lateOf(p) {
			yield(g, p)
		}
	}
	for _, p := range n.AntiAffinityPods {
		if without[p.UID] {
			continue
		}
		for _, g := range ct.groups.guardsOf(p.Shape) {
			yield(g, p)
		}
	}
}

// noDomain is the domain of a node that lacks the label.
const noDomain = -2

// domainsOf is the domain that a node is in, by key; noDomain for labels that it lacks or that no group uses.
func (ct *Counts) domainsOf(n *model.Node) []int {
	at := slices.Repeat([]int{noDomain}, len(ct.u.Keys))
	for key, v := range ct.Domains.byKey {
		if v == nil {
			continue
		}
		r := n.Requirements.Get(ct.u.Keys[key].Name)
		if r.Operator() == requirement.In && r.Len() == 1 {
			at[key] = v.number(r.Values()[0])
		}
	}
	return at
}

// counts reports whether the group counts pods on a node at all.
func (ct *Counts) counts(g *Group, n *model.Node) bool {
	f := g.filter
	if f == nil {
		return true
	}
	if f.repels(spreadTaints(n)) || slices.ContainsFunc(f.keys, func(key int) bool { return nodeLacks(n, ct.u.Keys[key]) }) {
		return false
	}
	if len(f.alternatives) == 0 {
		return true
	}
	return slices.ContainsFunc(f.alternatives, func(c *Conjunction) bool {
		return n.Requirements.Compatible(c.Set, func(string) bool { return false })
	})
}

// spreadTaints are the taints that spreads honor: those of the Node object, ephemeral ones included.
func spreadTaints(n *model.Node) []model.Taint {
	if n.NodeName == "" {
		return n.Taints
	}
	return n.RawTaints
}

// repels reports whether the filter leaves out nodes with these taints.
func (f *NodeFilter) repels(taints []model.Taint) bool {
	return f != nil && f.honorTaints && !f.tolerates(taints)
}

func (f *NodeFilter) tolerates(taints []model.Taint) bool {
	_, repelled := model.Untolerated(taints, f.tolerations, true)
	return !repelled
}
