package place

import (
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
)

// ZoneLabel is the label of the zone of a node.
const ZoneLabel = requirement.ZoneLabel

// Values of ZoneCount that are not one zone.
const (
	// ZoneFlexible stands for several zones, or any.
	ZoneFlexible = "flexible"
	// ZoneNone stands for no zone at all.
	ZoneNone = "none"
)

// ZoneCount is how many pending pods can run in one zone only, in several (ZoneFlexible) or in none (ZoneNone).
type ZoneCount struct {
	Zone string
	Pods int
}

// Zones counts the pending pods by the zones that are left to them before anything is placed, sorted by zone: what they
// demand, what their volumes demand, and what required topology leaves. Source: scheduling specification, effective-zone
// metric.
func (s *Placer) Zones() []ZoneCount {
	var out []ZoneCount
	numbers, known := map[string]int32{}, map[*compile.Conjunction]string{}
	classes := s.PodClasses()
	for i, p := range s.Problem.Pods {
		if p.Node != "" || p.Virtual {
			continue
		}
		c := classes[i]
		if c.Zone == 0 {
			name, ok := known[c.Alternatives[0]]
			if demands := zoneDependsOnDemands(c); !ok || !demands {
				if name = s.zoneOf(c); demands {
					known[c.Alternatives[0]] = name
				}
			}
			if numbers[name] == 0 {
				out = append(out, ZoneCount{Zone: name})
				numbers[name] = int32(len(out)) //nolint:gosec // there are not so many zones
			}
			c.Zone = numbers[name]
		}
		out[c.Zone-1].Pods++
	}
	slices.SortFunc(out, func(a, b ZoneCount) int { return strings.Compare(a.Zone, b.Zone) })
	return out
}

// zoneDependsOnDemands reports whether the zones of the class follow from what it demands of nodes alone.
func zoneDependsOnDemands(c *compile.Class) bool {
	return len(c.Shape.VolumeTopology)+len(c.Owns.Part(compile.PartRequired))+len(c.Avoid) == 0
}

func (s *Placer) zoneOf(c *compile.Class) string {
	zone := c.Alternatives[0].Set.Get(ZoneLabel)
	if within, ok := reachable(c.Shape.VolumeTopology); ok {
		zone = zone.Intersect(within)
	}
	if key, ok := s.Classes.Universe.Index[ZoneLabel]; ok {
		zone = s.leftByTopology(c, key, zone)
	}
	switch {
	case zone.Operator() == requirement.DoesNotExist:
		return ZoneNone
	case zone.Operator() == requirement.In && zone.Len() == 1:
		return zone.Values()[0]
	}
	return ZoneFlexible
}

// reachable is the zones in which some alternative can be used; not ok when one of them can be used anywhere.
func reachable(alternatives []requirement.Set) (requirement.Requirement, bool) {
	var names []string
	for _, alternative := range alternatives {
		zone := alternative.Get(ZoneLabel)
		if zone.Operator() != requirement.In {
			return requirement.Requirement{}, false
		}
		names = append(names, zone.Values()...)
	}
	return requirement.New(ZoneLabel, requirement.In, names...), len(alternatives) > 0
}

// leftByTopology is the part of zone that every required group on the zone label leaves, and all anti-affinity of others.
func (s *Placer) leftByTopology(c *compile.Class, key int, zone requirement.Requirement) requirement.Requirement {
	if len(c.Owns.Part(compile.PartRequired))+len(c.Avoid) == 0 {
		return zone
	}
	st := &s.scratch.level
	*st = compile.LevelConstraints{Strict: c.Alternatives[0], Owned: st.Owned[:0], Hosts: st.Hosts[:0]}
	for _, g := range c.Owns.Part(compile.PartRequired) {
		st.Bind(c, g)
	}
	within := s.Counts.Domains.Allowed(key, st.Strict)
	states := GroupStates(s.scratch.states[:0], st, key)
	s.scratch.states = states
	blocked := c.Blocked(key)
	if len(states) == 0 && len(blocked) == 0 {
		return zone
	}
	left := s.scratch.names[:0]
	for d, name := range s.Counts.Domains.Of(key).Names {
		if maxPods, _ := CapacityIn(states, d, within); maxPods > 0 && !compile.LacksLabel(name) && !slices.Contains(blocked, d) {
			left = append(left, name)
		}
	}
	slices.Sort(left)
	s.scratch.names = left
	return zone.Intersect(requirement.New(ZoneLabel, requirement.In, left...))
}
