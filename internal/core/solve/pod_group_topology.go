package solve

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/unschedulable"
)

// Problem: all pods of a group with a topology key need nodes with the same value of that label.
//
// Approach: the group gets one value, which its pods then require as if their node selectors had it. Members that run fix the value.
// Otherwise the group is solved alone for each value that a node, an instance type or a pool has: the values with which the most pods are
// placed come first, those with the lowest price among them. If the group falls short beside the other pods, the next value is tried.
//
// Invariant: no pod of such a group is placed before the value is known. Cost: one run for each value, with the pods of the group only.

// maxDomains is how many values of the label are tried for a group.
const maxDomains = 32

// chooseDomains finds the values to try for the groups with a topology key.
func (gs *podGroups) chooseDomains(p Problem, run func(Problem) Plan) {
	for _, g := range gs.list {
		if g.out || g.TopologyKey == "" {
			continue
		}
		if len(g.running) > 0 {
			g.followRunning()
			continue
		}
		domains := domainsOf(p, g.TopologyKey)
		if len(domains) == 0 {
			g.out, g.why = true, unschedulable.Reasons{{Code: unschedulable.PodGroupTopologyUnknown, Group: unschedulable.PodGroup{Name: g.ID(), Key: g.TopologyKey}}}
			continue
		}
		if g.domains = domains; len(domains) > 1 {
			g.domains = g.ranked(p, domains, run)
		}
	}
}

// followRunning makes the value of the nodes of running members the only one.
func (g *podGroup) followRunning() {
	values := map[string]bool{}
	for _, r := range g.running {
		value, ok := valueOn(r.node, g.TopologyKey)
		if !ok {
			value = "none"
		}
		values[value] = true
	}
	g.domains = slices.Sorted(maps.Keys(values))
	if len(g.domains) > 1 {
		g.out, g.why = true, unschedulable.Reasons{{Code: unschedulable.PodGroupMismatch, Group: unschedulable.PodGroup{
			Name: g.ID(), Mismatch: fmt.Sprintf("pods run on nodes with the values %v of label %s", g.domains, g.TopologyKey),
		}}}
	}
}

// valueOn is the value of a label on a node; ok is false while it is not certain.
func valueOn(n *model.Node, key string) (value string, ok bool) {
	r := n.Requirements.Get(key)
	if r.Operator() != requirement.In || r.Len() != 1 {
		return "", false
	}
	return r.Values()[0], true
}

// domainsOf are the values of a label that nodes, pools and instance types have, sorted; at most maxDomains.
func domainsOf(p Problem, key string) []string {
	values := map[string]bool{}
	for _, n := range p.Nodes {
		if value, ok := valueOn(n, key); ok {
			values[value] = true
		}
	}
	for _, pool := range p.Pools {
		want := pool.Requirements.Get(key)
		if want.Operator() == requirement.In {
			for _, value := range want.Values() {
				values[value] = true
			}
			continue
		}
		for _, value := range pool.Catalog.Values(key) {
			if want.Has(value) {
				values[value] = true
			}
		}
	}
	out := slices.Sorted(maps.Keys(values))
	return out[:min(len(out), maxDomains)]
}

// trial is a group solved alone for one value.
type trial struct {
	domain string
	placed int
	price  float64
}

// ranked are the values with which the group gets enough places alone, the best first; the best of all where there is none.
func (g *podGroup) ranked(p Problem, domains []string, run func(Problem) Plan) []string {
	trials := make([]trial, len(domains))
	for i, domain := range domains {
		alone := p
		alone.Pods = g.restricted(domain)
		plan := run(alone)
		trials[i] = trial{domain: domain, price: plan.Price()}
		eachPlaced(plan, func(*model.Pod) { trials[i].placed++ })
	}
	slices.SortStableFunc(trials, func(a, b trial) int {
		return cmp.Or(cmp.Compare(b.placed, a.placed), cmp.Compare(a.price, b.price))
	})
	out := []string{trials[0].domain}
	for _, t := range trials[1:] {
		if t.placed >= g.MinCount {
			out = append(out, t.domain)
		}
	}
	return out
}

// restricted are the members, which require a value of the topology key.
func (g *podGroup) restricted(domain string) []*model.Pod {
	only := requirement.NewSet(requirement.New(g.TopologyKey, requirement.In, domain))
	shapes := map[*model.Shape]*model.Shape{}
	out := make([]*model.Pod, len(g.members))
	for i, pod := range g.members {
		shape := shapes[pod.Shape]
		if shape == nil {
			bound := *pod.Shape
			bound.Selector = bound.Selector.And(only)
			shape = &bound
			shapes[pod.Shape] = shape
		}
		member := *pod
		member.Shape = shape
		out[i] = &member
	}
	return out
}

// original is the plan with the pods as they were before their groups got values.
func (gs *podGroups) original(plan Plan) Plan {
	before := map[string]*model.Pod{}
	for _, g := range gs.list {
		if len(g.domains) > 0 {
			for _, pod := range g.members {
				before[pod.UID] = pod
			}
		}
	}
	if len(before) == 0 {
		return plan
	}
	restore := func(pods []*model.Pod) []*model.Pod {
		out := slices.Clone(pods) // the run that made the plan has the list too
		for i, pod := range out {
			if was := before[pod.UID]; was != nil {
				out[i] = was
			}
		}
		return out
	}
	plan.Placements, plan.NodeClaims, plan.Unschedulable = slices.Clone(plan.Placements), slices.Clone(plan.NodeClaims), slices.Clone(plan.Unschedulable)
	for i := range plan.Placements {
		plan.Placements[i].Pods = restore(plan.Placements[i].Pods)
	}
	for i := range plan.NodeClaims {
		plan.NodeClaims[i].Pods = restore(plan.NodeClaims[i].Pods)
	}
	for i := range plan.Unschedulable {
		plan.Unschedulable[i].Pods = restore(plan.Unschedulable[i].Pods)
	}
	plan.Deferred, plan.Undecided = restore(plan.Deferred), restore(plan.Undecided)
	return plan
}

// withTopologyKeys are the pods and, for each group with a topology key, one more that requires the label: the labels of nodes are read only
// for keys that are known when a problem is compiled.
func withTopologyKeys(p Problem, pods []*model.Pod) []*model.Pod {
	seen := map[string]bool{}
	out := slices.Clip(pods)
	for _, list := range [][]*model.Pod{p.Pods, pods} {
		for _, pod := range list {
			id := p.GroupOf(pod)
			if id == "" || seen[id] {
				continue
			}
			seen[id] = true
			known, _ := p.PodGroups.Get(id)
			if known == nil || known.TopologyKey == "" {
				continue
			}
			g := &podGroup{PodGroup: known, members: []*model.Pod{pod}}
			for _, domain := range domainsOf(p, known.TopologyKey) {
				out = append(out, g.restricted(domain)...)
			}
		}
	}
	return out
}
