package solve

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/device"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

// class is all pods that ask the same question, compiled once.
type class struct {
	shape *model.Shape
	// needs are the resources with a request above zero.
	needs []need
	*special
	// alternatives are required affinity without preferences; daemons are judged by these.
	alternatives []*conjunction
	// stages are the forms of the question in order of trial, from all wishes granted to none.
	stages []*stage
	// final is the most yielding form of the last alternative: what a refusal speaks of.
	final *stage
	// membership is the groups that count the pods, and those that keep them away.
	*membership
	// owns is the groups that the shape demands.
	owns *demands
	// drifting are the labels by which others count the pods of the class, while the pods themselves do not care.
	drifting []int
	// zone is a number, from one, for where the pods could run before anything was placed; zero until somebody asks.
	zone int32
	// bound is set when what the class may do depends on where other pods are in a way that may turn in its favour.
	bound bool
}

// special is what few pods have.
type special struct {
	// claims are what the pods want of devices.
	claims []*device.Claim
	// exempt lets the pods onto nodes that are closed to others.
	exempt bool
}

type need struct {
	resource int
	amount   int64
}

// conjunction is an interned list of label demands. Equal lists share one.
type conjunction struct {
	number int
	terms  []term
	set    requirement.Set
	// alone is the list of the conjunction and nothing else: most classes and lanes have one, and need no list of their own.
	alone [1]*conjunction
}

// stage is one form of a class's question.
type stage struct {
	*conjunction
	class *class
	// strict is the question without wishes: which domains count for a spread is up to it.
	strict *conjunction
	// tolerant lets PreferNoSchedule taints pass; near is set when a machine must hold certain pods already.
	tolerant, near bool
	// owned are the groups that bind the stage on labels other than the hostname, hosts those on machines.
	owned, hosts []owned
	// keys are the labels that some group has a say in.
	keys []int
	// lanes are sorted by the number of what they want. A stage without keys has exactly one.
	lanes []*lane
}

// plain reports whether no group has a say in where the stage's pods go.
func (st *stage) plain() bool { return len(st.keys) == 0 }

// owned is a group that binds a class. self is set when the group counts the class's own pods.
type owned struct {
	*group
	self bool
}

// lane is a stage with a domain chosen for every key, and the places that already refused it.
type lane struct {
	// want is the question with its domains.
	want *conjunction
	// forms are what is wanted, once for every alternative of where the pods' volumes can be used.
	forms []*conjunction
	// nodes is how many existing nodes are known to be of no use.
	nodes int
	// spots are what is known about each template. Once somebody has asked, as many follow about those claims of each template that
	// are not bound to a domain yet.
	spots []spot
}

// classes compiles pods, once per shape and membership.
type classes struct {
	u      *universe
	groups *groups
	byAsk  map[ask]*class
	// specials are what few pods have, by what they say; ordinary is what most have.
	specials map[string]*special
	ordinary *special
	daemons  map[*model.Shape]*class
	byTerms  map[string]*conjunction
	// chosen are conjunctions that choices of domains were added to, by the conjunction's number and the choices.
	chosen map[string]*conjunction
	// needs are what different requests need, by what they say.
	needs   map[string][]need
	options Options
	devices *devices
	// soft is set when some taint in the problem is PreferNoSchedule: only then is there a last stage.
	soft   bool
	exempt map[string]bool
	// templates is the number of templates.
	templates int
	// scratch is room for one identity between two lines of the same function.
	scratch []byte
}

// ask is what pods of one class have in common.
type ask struct {
	shape      *model.Shape
	membership *membership
	special    *special
}

// of is the class of a pod.
func (cs *classes) of(p *model.Pod) *class {
	key := ask{p.Shape, cs.groups.membership(p), cs.special(p)}
	if c, ok := cs.byAsk[key]; ok {
		return c
	}
	c := cs.bare(p.Shape)
	c.special, c.membership, c.owns = key.special, key.membership, cs.groups.of(p.Shape)
	c.bound = len(c.avoid) > 0
	for _, reach := range p.Shape.VolumeTopology {
		// Labels that only volumes ask for need a number before the labels of nodes are read.
		cs.intern(reach)
	}
	cs.ladder(c)
	c.drift()
	cs.byAsk[key] = c
	return c
}

// special is what is special about a pod.
func (cs *classes) special(p *model.Pod) *special {
	exempt := cs.exempt[p.UID]
	if len(p.DeviceClaims()) == 0 && !exempt {
		return cs.ordinary
	}
	id := fmt.Sprint(exempt, p.DeviceClaims())
	known, ok := cs.specials[id]
	if !ok {
		known = &special{claims: cs.devices.of(p), exempt: exempt}
		cs.specials[id] = known
	}
	return known
}

// alike reports whether it is plain to see that two pods are of one class.
func (cs *classes) alike(a, b *model.Pod) bool {
	return a.Shape == b.Shape && a.Labels == b.Labels && a.Labels != nil && len(a.DeviceClaims())+len(b.DeviceClaims())+len(cs.exempt) == 0
}

// drift finds the labels of groups that count the pods and that no stage of theirs looks at.
func (c *class) drift() {
	for _, list := range c.counting() {
		for _, g := range list {
			owns := slices.ContainsFunc(c.stages, func(st *stage) bool { return slices.Contains(st.keys, g.key) })
			if !g.host && !owns && !slices.Contains(c.drifting, g.key) {
				c.drifting = append(c.drifting, g.key)
			}
		}
	}
}

// daemon is a class that is only ever asked where it would run.
func (cs *classes) daemon(shape *model.Shape) *class {
	if c, ok := cs.daemons[shape]; ok {
		return c
	}
	cs.daemons[shape] = cs.bare(shape)
	return cs.daemons[shape]
}

func (cs *classes) bare(shape *model.Shape) *class {
	c := &class{shape: shape, needs: cs.needsOf(shape.Requests), special: cs.ordinary, membership: cs.groups.none}
	if shape.Alternatives() == 1 {
		c.alternatives = cs.intern(shape.Strict(0)).alone[:]
		return c
	}
	for i := range shape.Alternatives() {
		c.alternatives = append(c.alternatives, cs.intern(shape.Strict(i)))
	}
	return c
}

// needsOf is needs, worked out once for equal requests.
func (cs *classes) needsOf(requests resource.Vector) []need {
	id := cs.scratch[:0]
	for i, amount := range requests {
		if amount > 0 {
			id = binary.AppendVarint(binary.AppendVarint(id, int64(i)), amount)
		}
	}
	cs.scratch = id
	known, ok := cs.needs[string(id)]
	if !ok {
		known = needs(requests)
		cs.needs[string(id)] = known
	}
	return known
}

func (cs *classes) intern(set requirement.Set) *conjunction {
	var id strings.Builder
	for _, r := range set {
		id.WriteString(identity(r))
		id.WriteByte(1)
	}
	if c, ok := cs.byTerms[id.String()]; ok {
		return c
	}
	c := &conjunction{number: len(cs.byTerms), terms: cs.u.terms(set), set: set}
	c.alone[0] = c
	cs.byTerms[id.String()] = c
	return c
}

// wanted are the resources that some class needs, ascending.
func (cs *classes) wanted() []int {
	seen := map[int]bool{}
	for _, c := range cs.byAsk {
		for _, need := range c.needs {
			seen[need.resource] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

func needs(requests resource.Vector) []need {
	var out []need
	for i, amount := range requests {
		if amount > 0 {
			out = append(out, need{i, amount})
		}
	}
	return out
}

// most is how many of n pods one machine may hold: pods that claim the same port of it keep each other away.
func (c *class) most(n int) int {
	if len(c.shape.HostPorts) > 0 {
		return min(n, 1)
	}
	return n
}

// count is how many pods of the class fit into room, at most limit.
func (c *class) count(room, used resource.Vector, limit int) int {
	n := int64(limit)
	for _, need := range c.needs {
		free := room.At(need.resource) - used.At(need.resource)
		if free < need.amount {
			return 0
		}
		n = min(n, free/need.amount)
	}
	return int(n)
}

// guards are the groups that count what the class keeps away.
func (c *class) guards() []*group { return c.owns.part(partGuards) }

// counting are the groups that count the pods of the class, and those that count what it keeps away.
func (c *class) counting() [2][]*group { return [...][]*group{c.members, c.guards()} }

// counted reports whether some group counts the pods of the class.
func (c *class) counted() bool { return len(c.members)+len(c.guards()) > 0 }
