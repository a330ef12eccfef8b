package disrupt

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// Problem: pods of a PodGroup that is disrupted as a whole have to leave their nodes together, and a node may have pods of several such groups.
// Approach: union-find joins nodes that have pods of the same group to units. A method that moves units keeps the candidates of a unit only if
// it keeps all of them, and disrupts them by one command, or none. Invariant: such a command has all nodes of each unit that it touches.
// Cost: linear in the bound pods, almost.
//
// Source: specification of version 1.15, groups; union-find: Tarjan 1975, Efficiency of a good but not linear set union algorithm.

// unit is several nodes that are disrupted together or not at all.
type unit struct {
	// nodes are sorted by ID; groups are the IDs of the groups that join them, sorted.
	nodes  []*model.Node
	groups []string
	// drifted is set when a candidate of the unit has drifted; those of static pools do not count.
	drifted bool
	// expired is the same for soft expiry.
	expired bool
	// excluded are the obstacles of nodes that are no candidates, by node ID.
	excluded map[string]Obstacle
}

// String names the groups as messages do.
func (u *unit) String() string {
	if len(u.groups) == 1 {
		return "PodGroup " + u.groups[0]
	}
	return "PodGroups " + strings.Join(u.groups, ", ")
}

// units are the units of several nodes, by the ID of each of their nodes.
func units(snapshot *model.Snapshot) map[string]*unit {
	together := groupsDisruptedTogether(snapshot)
	if len(together) == 0 {
		return nil
	}
	joined, first := disjointNodes{}, map[string]*model.Node{}
	for _, n := range snapshot.Nodes.All() { // the order does not matter
		for _, pod := range n.Pods {
			if pod.Membership == nil || pod.Terminating || !together[pod.Membership.Group] {
				continue
			}
			if group := pod.Membership.Group; first[group] == nil {
				first[group] = n
			}
			joined.join(n, first[pod.Membership.Group])
		}
	}
	byRoot := map[*model.Node]*unit{}
	for n := range joined {
		root := joined.root(n)
		if byRoot[root] == nil {
			byRoot[root] = &unit{excluded: map[string]Obstacle{}}
		}
		byRoot[root].nodes = append(byRoot[root].nodes, n)
	}
	for group, n := range first {
		u := byRoot[joined.root(n)]
		u.groups = append(u.groups, group)
	}
	out := map[string]*unit{}
	for _, u := range byRoot {
		if len(u.nodes) < 2 {
			continue
		}
		slices.Sort(u.groups)
		slices.SortFunc(u.nodes, func(a, b *model.Node) int { return strings.Compare(a.ID, b.ID) })
		for _, n := range u.nodes {
			out[n.ID] = u
		}
	}
	return out
}

// sortedUnits are units in the order of their first nodes.
func sortedUnits(set map[*unit]bool) []*unit {
	return slices.SortedFunc(maps.Keys(set), func(a, b *unit) int { return strings.Compare(a.nodes[0].ID, b.nodes[0].ID) })
}

// groupsDisruptedTogether are the groups whose pods are disrupted together or not at all, by ID.
func groupsDisruptedTogether(snapshot *model.Snapshot) map[string]bool {
	if snapshot.PodGroups == nil || snapshot.PodGroups.Len() == 0 {
		return nil
	}
	together := map[string]bool{}
	for id, g := range snapshot.PodGroups.All() {
		if g.DisruptedTogether {
			together[id] = true
		}
	}
	return together
}

// disjointNodes are disjoint sets of nodes: a node points to another one of its set, the root of a set to itself.
type disjointNodes map[*model.Node]*model.Node

func (d disjointNodes) root(n *model.Node) *model.Node {
	if d[n] == nil {
		d[n] = n
	}
	for d[n] != n {
		d[n] = d[d[n]] // path halving
		n = d[n]
	}
	return n
}

func (d disjointNodes) join(a, b *model.Node) { d[d.root(a)] = d.root(b) }

// Together returns those of the candidates that the method disrupts only together with c, c included.
func (m Method) Together(c Candidate, candidates []Candidate) []Candidate {
	if c.unit == nil || !m.movesUnits {
		return []Candidate{c}
	}
	var out []Candidate
	for _, other := range candidates {
		if other.unit == c.unit {
			out = append(out, other)
		}
	}
	return out
}

// wholeUnits keeps the candidates of units of which all nodes are kept, and those of no unit. The others get the obstacle of a node of their
// unit that is not kept; obstacles are those found so far.
func (m Method) wholeUnits(kept []Candidate, obstacles []Obstacle) ([]Candidate, []Obstacle) {
	if !m.movesUnits || !slices.ContainsFunc(kept, func(c Candidate) bool { return c.unit != nil }) {
		return kept, obstacles
	}
	keeps, why := map[string]bool{}, map[string]Obstacle{}
	for _, c := range kept {
		keeps[c.Node.ID] = true
	}
	for _, o := range obstacles {
		why[o.Node.ID] = o
	}
	whole, split := partition(kept, func(c Candidate) (Obstacle, bool) {
		if c.unit == nil {
			return Obstacle{}, true
		}
		i := slices.IndexFunc(c.unit.nodes, func(n *model.Node) bool { return !keeps[n.ID] })
		if i < 0 {
			return Obstacle{}, true
		}
		n := c.unit.nodes[i]
		o, known := why[n.ID]
		if !known {
			o, known = c.unit.excluded[n.ID]
		}
		detail := "it is left alone"
		if known {
			detail = o.String()
		}
		return Obstacle{
			Code: podGroupBlocked, Node: c.Node, Pod: o.Pod, PDBs: o.PDBs, Detail: fmt.Sprintf("%s also runs on node %s: %s", c.unit, n.Name, detail),
		}, false
	})
	return whole, append(obstacles, split...)
}

// OverBudget is the obstacle that budgets do not allow all nodes of a unit at once; nil if they do. set is the unit, or one candidate of none.
// A node that is not initialized needs no budget.
func (b Budgets) OverBudget(set []Candidate) *Obstacle {
	need := map[string]int{}
	for _, c := range set {
		if c.Node.Initialized {
			need[c.Node.Pool]++
		}
	}
	for _, c := range set {
		switch pool := c.Node.Pool; {
		case b[pool] >= need[pool]:
		case len(set) == 1:
			return &Obstacle{Code: NodePoolBudgetExhausted, Node: c.Node}
		default:
			return &Obstacle{
				Code: podGroupOverBudget, Node: c.Node, Pool: pool, Count: need[pool],
				Detail: c.unit.String(),
			}
		}
	}
	return nil
}
