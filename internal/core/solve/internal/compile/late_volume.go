package compile

import (
	"maps"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

// A volume that waits for its first consumer is created in the zone of the node of the first pod that uses it. The other pods with the same
// PersistentVolumeClaim have to be in that zone: they have an affinity to each other, whatever their labels.

// noZone is the domain of nodes without a zone, which no label can name. A volume that is created for one of them can be used on all of them.
const noZone = "(no zone)"

// shareLateVolumes makes a group of every volume that several pods wait for. Those on nodes are pods that are planned there already, and
// pods whose volume is being created.
func (gs *Groups) shareLateVolumes(pods []*model.Pod, nodes []*model.Node) {
	users := map[string]int{}
	for _, p := range pods {
		for _, claim := range p.LateVolumes() {
			users[claim]++
		}
	}
	if len(users) == 0 {
		return
	}
	known := make(map[string]bool, len(pods))
	for _, p := range pods {
		known[p.UID] = true
	}
	for _, n := range nodes {
		for _, p := range n.Pods {
			for _, claim := range p.LateVolumes() {
				if !known[p.UID] {
					users[claim]++
				}
			}
		}
	}
	maps.DeleteFunc(users, func(_ string, n int) bool { return n < 2 })
	if len(users) == 0 {
		return
	}
	gs.late = map[string]*Group{}
	key := gs.u.Key(ZoneKey)
	gs.u.Keys[key].Counted = true
	for _, claim := range slices.Sorted(maps.Keys(users)) {
		g := &Group{Group: topology.Group{Kind: topology.KindAffinity}, u: gs.u, number: len(gs.list), Key: key, late: true}
		gs.list = append(gs.list, g)
		gs.late[claim] = g
	}
}

// lateOf are the groups of the volumes that a pod shares.
func (gs *Groups) lateOf(p *model.Pod) []*Group {
	if len(gs.late) == 0 {
		return nil
	}
	var out []*Group
	for _, claim := range p.LateVolumes() {
		if g := gs.late[claim]; g != nil {
			out = append(out, g)
		}
	}
	return out
}

// addLate counts a pod on a node whose zone no label names for a volume: in the domain of nodes without a zone, or elsewhere as long as the
// zone is not decided. The other pods with the volume wait until it is.
func (ct *Counts) addLate(g *Group, n *model.Node) {
	if nodeLacks(n, ct.u.Keys[g.Key]) {
		g.Add(ct.Domains.Of(g.Key).number(noZone), 1)
		return
	}
	g.AddElsewhere()
}

// bindLate makes the class count in groups of volumes, and bound by them.
func (c *Class) bindLate(groups []*Group) {
	if len(groups) == 0 {
		return
	}
	m := *c.membership
	m.members = slices.Concat(m.members, groups)
	d := demands{list: slices.Clone(c.Owns.list), ends: c.Owns.ends}
	for _, g := range groups {
		d.add(PartRequired, g)
	}
	c.membership, c.Owns = &m, &d
}

// restrictLate keeps as domains of each volume those that all its pods may use, if there are any: the first of them is not to choose a zone
// that others cannot use. Pods that can run in no zone do not matter. What pods may use is an estimate: see WidenLate.
func (r *Run) restrictLate() {
	if len(r.Groups.late) == 0 {
		return
	}
	owners := map[*Group][]*Class{}
	for _, c := range r.Classes.list {
		for _, g := range c.late {
			owners[g] = append(owners[g], c)
		}
	}
	known := map[*Class]map[int]bool{}
	for _, g := range r.Groups.list {
		if len(owners[g]) > 0 && r.stopped() {
			return
		}
		var usable []map[int]bool
		for _, c := range owners[g] {
			if known[c] == nil {
				known[c] = r.usableDomains(c, g.Key)
			}
			if someKnown(g, known[c]) {
				usable = append(usable, known[c])
			}
		}
		if len(usable) == 0 {
			continue
		}
		g.excluded = g.Restrict(func(d int) bool {
			return !slices.ContainsFunc(usable, func(domains map[int]bool) bool { return !domains[d] })
		})
	}
}

// WidenLate adds the domains again that restrictLate removed from the volumes of the class which no pod has placed yet, and reports whether
// there are any: none of the pods found a node in the domains that all of them may use.
func (c *Class) WidenLate() (widened bool) {
	for _, g := range c.late {
		for _, d := range g.excluded {
			if g.Empty() && !g.Known(d) {
				g.AddDomain(d)
				widened = true
			}
		}
	}
	return widened
}

// someKnown reports whether one of the domains is known to the group.
func someKnown(g *Group, domains map[int]bool) bool {
	for d := range domains {
		if g.Known(d) {
			return true
		}
	}
	return false
}

// maxLateForms is how many forms of the requirements of pods are tried in a domain. Beyond these, the domain is taken to be usable.
const maxLateForms = 64

// usableDomains are the domains of a label in which a pod of the class could run alone, on an existing or a new node.
func (r *Run) usableDomains(c *Class, key int) map[int]bool {
	out := map[int]bool{}
	for d, name := range r.Counts.Domains.Of(key).Names {
		in := requirement.New(r.Classes.Universe.Keys[key].Name, requirement.In, name)
		if LacksLabel(name) {
			in = requirement.New(r.Classes.Universe.Keys[key].Name, requirement.DoesNotExist)
		}
		if r.mayRun(c, requirement.NewSet(in)) {
			out[d] = true
		}
	}
	return out
}

// mayRun reports whether some node with more requirements could hold a pod of the class.
func (r *Run) mayRun(c *Class, more requirement.Set) bool {
	reaches := c.Shape.VolumeTopology
	if len(reaches) == 0 {
		reaches = []requirement.Set{nil}
	}
	tried := 0
	for _, alternative := range c.Alternatives {
		for _, reach := range reaches {
			if tried++; tried > maxLateForms {
				return true
			}
			if r.mayHold(c, r.Classes.Intern(alternative.Set.And(more).And(reach))) {
				return true
			}
		}
	}
	return false
}

// mayHold reports whether some existing node that satisfies the form, or some new one, has capacity for a pod of the class.
func (r *Run) mayHold(c *Class, form *Conjunction) bool {
	for i := range r.Targets.Satisfying(form).All() {
		if t := r.Targets.List[i]; c.Count(t.Free, nil, 1) > 0 && t.Accepts(c, c.Final) {
			return true
		}
	}
	return slices.ContainsFunc(r.Templates, func(t *Template) bool {
		to := t.Step(t.Root, form)
		if _, repelled := t.Repels(c, c.Final); repelled || to == NoState {
			return false
		}
		st := t.States[to]
		candidates, capacity := t.Within(st.Mask).Clone(), t.CapacityIn(st)
		for _, need := range c.Needs {
			capacity.index(need.Resource).Narrow(candidates, need.Amount)
		}
		on := t.BlankOpenNode(to, candidates)
		defer t.Free([]*OpenNode{on})
		return !candidates.Empty() && (t.BestEffort || len(on.Unmet(st, candidates)) == 0)
	})
}

// addNoZone makes nodes without a zone a domain of the volumes, where there may be such nodes.
func (ct *Counts) addNoZone(templates []*Template) {
	for _, g := range ct.groups.late {
		if ct.MayLack(g.Key, templates) {
			g.AddDomain(ct.Domains.Of(g.Key).number(noZone))
		}
	}
}

// Constraint is what the group stands for, in messages.
func (g *Group) Constraint() string {
	if g.late {
		return "shared volume"
	}
	return g.Kind.String()
}

// Lacks reports whether d is the domain of nodes without the label.
func (v *Values) Lacks(d int) bool { return LacksLabel(v.Names[d]) }

// LacksLabel reports whether a domain is that of nodes without the label.
func LacksLabel(domain string) bool { return domain == noZone }
