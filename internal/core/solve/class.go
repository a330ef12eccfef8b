package solve

import (
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

// class is all pods that ask the same question, compiled once.
type class struct {
	shape *model.Shape
	// needs are the resources with a request above zero.
	needs []need
	// alternatives are required affinity without preferences; daemons are judged by these.
	alternatives []*conjunction
	// stages are the forms of the question in order of trial, from all wishes granted to none.
	stages []*stage
	// final is the most yielding form of the last alternative: what a refusal speaks of.
	final *stage
}

type need struct {
	resource int
	amount   int64
}

// conjunction is an interned list of label demands. Equal lists share one.
type conjunction struct {
	number int
	terms  []term
}

// stage is one form of a class's question, with the places that already refused it.
type stage struct {
	*conjunction
	// tolerant lets PreferNoSchedule taints pass.
	tolerant bool
	// nodes and claims are how many of each are known to be of no use.
	nodes, claims int
	// closed[i] is set when template i refuses to open a claim for the class.
	closed []bool
}

// classes compiles shapes, once each.
type classes struct {
	u       *universe
	byShape map[*model.Shape]*class
	byTerms map[string]*conjunction
	options Options
	// soft is set when some taint in the problem is PreferNoSchedule: only then is there a last stage.
	soft bool
	// templates is the number of templates.
	templates int
}

func (cs *classes) of(shape *model.Shape) *class {
	if c, ok := cs.byShape[shape]; ok {
		return c
	}
	c := &class{shape: shape, needs: needs(shape.Requests)}
	for i := range shape.Alternatives() {
		c.alternatives = append(c.alternatives, cs.intern(shape.Strict(i)))
	}
	cs.ladder(c)
	cs.byShape[shape] = c
	return c
}

// ladder lays out the stages: alternatives of required affinity are given up from the first on, then preferences from the
// heaviest on, then the aversion to softly tainted nodes. Source: scheduling specification, relaxation order.
//
// That order gives up an alternative because of a preference that comes with it, and may end at an alternative that nothing
// meets. So before a pod is refused, the alternatives that were given up are asked once more, without preferences.
func (cs *classes) ladder(c *class) {
	preferred := slices.Clone(c.shape.Preferred)
	if cs.options.IgnorePreferences {
		preferred = nil
	}
	slices.SortStableFunc(preferred, func(a, b model.Preference) int { return int(b.Weight) - int(a.Weight) })
	wish := func(alternative int, rest []model.Preference) *conjunction {
		strict := c.shape.Strict(alternative)
		if len(rest) > 0 {
			strict = strict.And(rest[0].Terms)
		}
		return cs.intern(strict)
	}
	last := c.shape.Alternatives() - 1
	for i := range last {
		cs.stage(c, wish(i, preferred), false)
	}
	for i := range len(preferred) + 1 {
		cs.stage(c, wish(last, preferred[i:]), false)
	}
	if cs.soft {
		cs.stage(c, wish(last, nil), true)
	}
	c.final = c.stages[len(c.stages)-1]
	for i := range last {
		if len(preferred) > 0 {
			cs.stage(c, wish(i, nil), false)
		}
		if cs.soft {
			cs.stage(c, wish(i, nil), true)
		}
	}
}

// stage appends a stage unless it asks the same as the one before.
func (cs *classes) stage(c *class, want *conjunction, tolerant bool) {
	if n := len(c.stages); n > 0 && c.stages[n-1].conjunction == want && c.stages[n-1].tolerant == tolerant {
		return
	}
	c.stages = append(c.stages, &stage{conjunction: want, tolerant: tolerant, closed: make([]bool, cs.templates)})
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
	c := &conjunction{number: len(cs.byTerms), terms: cs.u.terms(set)}
	cs.byTerms[id.String()] = c
	return c
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
