package solve

import (
	"cmp"
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/bitset"
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
	// volumes are those attached.
	volumes attachments
	// closed nodes receive exempt pods only.
	closed bool
}

// targets are all of them: initialized ones first, then by name.
type targets struct {
	list []*target
	u    *universe
	// labelled[n] are the targets whose labels satisfy conjunction n.
	labelled map[int]bitset.Set
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
	ts := &targets{u: u, labelled: map[int]bitset.Set{}}
	for _, n := range sorted {
		t := &target{node: n, room: n.Allocatable.Sub(n.Used), volumes: attachments{node: n}}
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

func (t *target) get(key int) setID {
	if key < len(t.sets) {
		return t.sets[key]
	}
	return undefined
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
	return slices.ContainsFunc(d.alternatives, func(c *conjunction) bool { return ts.satisfying(c).Has(i) })
}

// satisfying is the targets whose labels satisfy c. Labels are facts: a key that is not there satisfies nothing but absence.
func (ts *targets) satisfying(c *conjunction) bitset.Set {
	if m, ok := ts.labelled[c.number]; ok {
		return m
	}
	m := bitset.New(len(ts.list))
	for i, t := range ts.list {
		if t.satisfies(c, ts.u) {
			m.Add(i)
		}
	}
	ts.labelled[c.number] = m
	return m
}

func (t *target) satisfies(c *conjunction, u *universe) bool {
	for _, want := range c.terms {
		k := u.keys[want.key]
		have := t.get(want.key)
		switch {
		case have == undefined && !k.sets[want.set].AllowsAbsence():
			return false
		case have != undefined && !k.covers(want.set, have):
			return false
		}
	}
	return true
}

// satisfyingAny is the targets whose labels satisfy one of the forms.
func (ts *targets) satisfyingAny(forms []*conjunction) bitset.Set {
	m := ts.satisfying(forms[0])
	if len(forms) > 1 {
		m = m.Clone()
		for _, form := range forms[1:] {
			m.Or(ts.satisfying(form))
		}
	}
	return m
}

// accepts reports whether ports and taints of the node let pods of the class in.
func (t *target) accepts(c *class, st *level) bool {
	if t.closed && !c.exempt {
		return false
	}
	if _, taken := model.FirstConflict(c.shape.HostPorts, t.ports); taken {
		return false
	}
	_, repelled := model.Untolerated(t.node.Taints, c.shape.Tolerations, st.tolerant)
	return !repelled
}

// take puts pods of the class on the node.
func (t *target) take(c *class, pods []*model.Pod) {
	t.pods = append(t.pods, pods...)
	t.ports = append(t.ports, c.shape.HostPorts...)
	t.volumes.add(pods)
	t.room = t.room.Sub(c.shape.Requests.Times(int64(len(pods))))
}
