package solve

import (
	"cmp"
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

// target is an existing node that may receive pods.
type target struct {
	node *model.Node
	// room is what is left once bound pods and the daemons that are still to come are served.
	room resource.Vector
	sets []setID
	pods []*model.Pod
	// ports are taken by bound pods, by the daemons that are still to come, and by pods placed in this run.
	ports []model.HostPort
}

// targets are all of them: initialized ones first, then by name.
type targets struct {
	list []*target
	u    *universe
	// labelled[n] are the targets whose labels satisfy conjunction n.
	labelled map[int]bitset
}

func newTargets(nodes []*model.Node, u *universe) *targets {
	sorted := slices.Clone(nodes)
	slices.SortFunc(sorted, func(a, b *model.Node) int {
		if a.Initialized != b.Initialized {
			if a.Initialized {
				return -1
			}
			return 1
		}
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.ID, b.ID))
	})
	ts := &targets{u: u, labelled: map[int]bitset{}}
	for _, n := range sorted {
		t := &target{node: n, room: n.Allocatable.Sub(n.Used)}
		for _, p := range n.Pods {
			t.ports = append(t.ports, p.Shape.HostPorts...)
		}
		for _, r := range n.Requirements {
			// Keys that nobody asks about need no number.
			if k, ok := u.index[r.Key]; ok {
				t.put(term{k, u.keys[k].intern(r)})
			}
		}
		ts.list = append(ts.list, t)
	}
	return ts
}

func (t *target) put(have term) {
	for len(t.sets) <= have.key {
		t.sets = append(t.sets, undefined)
	}
	t.sets[have.key] = have.set
}

// reserveDaemons keeps room for the daemons that match a node and do not run on it yet. A machine that is not launched has
// no labels to match; its room was computed with daemons in mind.
func (ts *targets) reserveDaemons(daemons []*class) {
	for i, t := range ts.list {
		if !t.node.Launched {
			continue
		}
		var expected resource.Vector
		for _, d := range daemons {
			if ts.hosts(i, d) {
				expected = expected.Add(d.shape.Requests)
				t.ports = append(t.ports, d.shape.HostPorts...)
			}
		}
		t.room = t.room.Sub(expected.Sub(t.node.UsedByDaemons).Floor(0))
	}
}

func (ts *targets) hosts(i int, d *class) bool {
	if _, repelled := model.Untolerated(ts.list[i].node.Taints, d.shape.Tolerations, true); repelled {
		return false
	}
	return slices.ContainsFunc(d.alternatives, func(c *conjunction) bool { return ts.satisfying(c).has(i) })
}

// satisfying is the targets whose labels satisfy c. Labels are facts: a key that is not there satisfies nothing but absence.
func (ts *targets) satisfying(c *conjunction) bitset {
	if m, ok := ts.labelled[c.number]; ok {
		return m
	}
	m := newBitset(len(ts.list))
	for i, t := range ts.list {
		if t.satisfies(c, ts.u) {
			m.set(i)
		}
	}
	ts.labelled[c.number] = m
	return m
}

func (t *target) satisfies(c *conjunction, u *universe) bool {
	for _, want := range c.terms {
		k := u.keys[want.key]
		have := undefined
		if want.key < len(t.sets) {
			have = t.sets[want.key]
		}
		switch {
		case have == undefined && !k.sets[want.set].AllowsAbsence():
			return false
		case have != undefined && !k.covers(want.set, have):
			return false
		}
	}
	return true
}

// place puts as many pods as fit on existing nodes, the first that accepts first, and returns the rest.
func (ts *targets) place(c *class, st *stage, pods []*model.Pod) []*model.Pod {
	if st.nodes >= len(ts.list) {
		return pods
	}
	for i := range ts.satisfying(st.conjunction).from(st.nodes) {
		t := ts.list[i]
		n := c.count(t.room, nil, c.most(len(pods)))
		if n == 0 {
			continue
		}
		if _, taken := model.Clash(c.shape.HostPorts, t.ports); taken {
			continue
		}
		if _, repelled := model.Untolerated(t.node.Taints, c.shape.Tolerations, st.tolerant); repelled {
			continue
		}
		t.pods = append(t.pods, pods[:n]...)
		t.ports = append(t.ports, c.shape.HostPorts...)
		t.room = t.room.Sub(c.shape.Requests.Times(int64(n)))
		if pods = pods[n:]; len(pods) == 0 {
			st.nodes = i
			return nil
		}
	}
	st.nodes = len(ts.list)
	return pods
}
