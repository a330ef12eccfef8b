package compile

import (
	"cmp"
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/bitset"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/index"
)

// Target is an existing node that may receive pods.
type Target struct {
	Node *model.Node
	// Free is what bound pods and expected daemons leave.
	Free resource.Vector
	sets []index.SetID
	Pods []*model.Pod
	// Ports are used by bound pods, by expected daemons, and by pods placed in this run.
	Ports []model.HostPort
	// Volumes are those attached.
	Volumes Attachments
	// daemons are those whose pods run on the node or may yet start there.
	daemons []*Class
	// closed nodes receive exempt pods only.
	closed bool
	// gone is set when a what-if is without the node.
	gone bool
	// pool says which features the node is expected to have that it has not reported yet; nil for most nodes.
	pool *model.Pool
}

// Targets are all of them: initialized ones first, then by name.
type Targets struct {
	List []*Target
	u    *index.Universe
	// labelled[n] are the targets whose labels satisfy conjunction n.
	labelled map[int]bitset.Set
	// arriving are the DaemonSets of each target whose pods it can hold. They are not part of the targets, which what-ifs copy, because few pods ask for them.
	arriving [][]*Class
	// expected are the DaemonSets of the cluster.
	expected []expectedDaemon
}

func newTargets(nodes []*model.Node, u *index.Universe) *Targets {
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
	ts := &Targets{u: u, labelled: map[int]bitset.Set{}}
	for _, n := range sorted {
		t := &Target{Node: n, Volumes: Attachments{Node: n}}
		for _, r := range n.Requirements {
			// Keys that are not used need no number.
			if k, ok := u.Index[r.Key]; ok {
				t.put(index.Term{Key: k, Set: u.Keys[k].Intern(r)})
			}
		}
		ts.List = append(ts.List, t)
	}
	return ts
}

// expect adds DaemonSets to those whose pods may start on the node.
func (t *Target) expect(list []*Class) {
	for _, d := range list {
		if !slices.Contains(t.daemons, d) {
			t.daemons = append(slices.Clip(t.daemons), d)
		}
	}
}

func (t *Target) get(key int) index.SetID {
	if key < len(t.sets) {
		return t.sets[key]
	}
	return index.Undefined
}

// nodeLacks reports whether a node has no label of that key. One that is not launched gets the well-known ones.
func nodeLacks(n *model.Node, k *index.KeySpace) bool {
	i, ok := n.Requirements.Find(k.Name)
	if !ok {
		return n.Launched || !k.WellKnown
	}
	return k.Lacks(n.Requirements[i])
}

func (t *Target) put(have index.Term) {
	for len(t.sets) <= have.Key {
		t.sets = append(t.sets, index.Undefined)
	}
	t.sets[have.Key] = have.Set
}

// reserveDaemons reserves capacity for the daemons that match a node and do not run on it yet. A node that is not launched
// has no labels to match; its capacity accounts for daemons already.
func (ts *Targets) reserveDaemons(daemons []expectedDaemon) {
	ts.expected, ts.arriving = daemons, make([][]*Class, len(ts.List))
	for i := range ts.List {
		ts.reserve(i, func(*Class) bool { return false })
	}
}

// reserve reserves capacity of a target for the daemons that are not kept away from it, and none for others.
func (ts *Targets) reserve(i int, away func(*Class) bool) {
	t := ts.List[i]
	t.Free, t.Ports, t.daemons, ts.arriving[i] = t.Node.Allocatable.Sub(t.Node.Used), portsOf(t.Node), nil, nil
	var expected resource.Vector
	var expecting, instead []*Class
	for _, d := range ts.expected {
		if !ts.hosts(i, d.Class) || away(d.Class) {
			continue
		}
		total := expected.Add(d.Shape.Requests)
		fits := !t.Node.Launched || total.Fits(t.Node.Allocatable)
		if fits || !t.Node.Initialized {
			t.daemons = append(t.daemons, d.Class)
		}
		switch {
		case !fits && d.Shape.Requests.Fits(t.Free):
			// Whichever pods arrive first take their share, and the others stay pending.
			instead = append(instead, d.Class)
		case fits:
			ts.arriving[i] = append(ts.arriving[i], d.Class)
			if t.Node.Launched {
				expected, expecting = total, append(expecting, d.Class)
				t.Ports = append(t.Ports, d.Shape.HostPorts...)
			}
		}
	}
	if len(instead) > 0 {
		if t.Node.UsedByDaemons.IsZero() { // none of those that are expected runs yet
			instead = append(instead, expecting...)
		}
		expected = expected.Max(mostTogether(t.Free, nil, instead))
	}
	if t.Node.Launched {
		t.Free = t.Free.Sub(expected.Sub(t.Node.UsedByDaemons).Floor(0))
	}
}

func (ts *Targets) hosts(i int, d *Class) bool {
	if _, repelled := model.Untolerated(ts.List[i].Node.Taints, d.Shape.Tolerations, true); repelled {
		return false
	}
	if ts.List[i].missesFeatures(d) {
		return false
	}
	return slices.ContainsFunc(d.Alternatives, func(c *Conjunction) bool { return ts.Satisfying(c).Has(i) })
}

// Satisfying is the targets whose labels satisfy c. Labels of existing nodes are fixed: a missing key satisfies absence only.
func (ts *Targets) Satisfying(c *Conjunction) bitset.Set {
	if m, ok := ts.labelled[c.Number]; ok {
		return m
	}
	m := bitset.New(len(ts.List))
	for i, t := range ts.List {
		if t.satisfies(c, ts.u) {
			m.Add(i)
		}
	}
	ts.labelled[c.Number] = m
	return m
}

func (t *Target) satisfies(c *Conjunction, u *index.Universe) bool {
	for _, want := range c.Terms {
		k := u.Keys[want.Key]
		have := t.get(want.Key)
		switch {
		case have == index.Undefined && !k.Sets[want.Set].AllowsAbsence():
			return false
		case have != index.Undefined && !k.Covers(want.Set, have):
			return false
		}
	}
	return true
}

// maySatisfy reports whether the labels that a node will be launched with may satisfy c.
func (t *Target) maySatisfy(c *Conjunction, u *index.Universe) bool {
	for _, want := range c.Terms {
		k, have := u.Keys[want.Key], t.get(want.Key)
		switch {
		case have == index.Undefined && !k.WellKnown && !k.Sets[want.Set].AllowsAbsence():
			return false
		case have != index.Undefined && !k.Join(have, want.Set).Overlap:
			return false
		}
	}
	return true
}

// SatisfyingAny is the targets whose labels satisfy one of the forms.
func (ts *Targets) SatisfyingAny(forms []*Conjunction) bitset.Set {
	m := ts.Satisfying(forms[0])
	if len(forms) > 1 {
		m = m.Clone()
		for _, form := range forms[1:] {
			m.Or(ts.Satisfying(form))
		}
	}
	return m
}

// Accepts reports whether ports, features and taints of the node allow pods of the class.
func (t *Target) Accepts(c *Class, lv *Level) bool {
	if t.closed && !c.exempt && c.destination == nil {
		return false
	}
	if _, taken := model.FirstConflict(c.Shape.HostPorts, t.Ports); taken || t.repelledByDaemons(c) {
		return false
	}
	if t.missesFeatures(c) {
		return false
	}
	_, repelled := model.Untolerated(t.Node.Taints, c.Shape.Tolerations, lv.Tolerant)
	return !repelled
}

// Take puts pods of the class on the node.
func (t *Target) Take(c *Class, pods []*model.Pod) {
	t.Pods = append(t.Pods, pods...)
	t.Ports = append(t.Ports, c.Shape.HostPorts...)
	t.Volumes.Add(pods)
	t.Free = t.Free.Sub(c.Shape.Requests.Times(int64(len(pods))))
}
