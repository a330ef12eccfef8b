package solve

import (
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

const zoneLabel = requirement.ZoneLabel

// Zones that are not one zone.
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

// zones counts the pending pods by the zones that are left to them before anything is placed, sorted by zone: what they
// demand, what their volumes demand, and what required topology leaves. Source: scheduling specification, effective-zone
// metric.
func (s *placer) zones() []ZoneCount {
	var out []ZoneCount
	numbers := map[string]int32{}
	for _, p := range s.problem.Pods {
		if p.Node != "" || p.Virtual {
			continue
		}
		c := s.classes.of(p)
		if c.zone == 0 {
			name := s.zoneOf(c)
			if numbers[name] == 0 {
				out = append(out, ZoneCount{Zone: name})
				numbers[name] = int32(len(out)) //nolint:gosec // there are not so many zones
			}
			c.zone = numbers[name]
		}
		out[c.zone-1].Pods++
	}
	slices.SortFunc(out, func(a, b ZoneCount) int { return strings.Compare(a.Zone, b.Zone) })
	return out
}

func (s *placer) zoneOf(c *class) string {
	zone := c.alternatives[0].set.Get(zoneLabel)
	if within, ok := reachable(c.shape.VolumeTopology); ok {
		zone = zone.Intersect(within)
	}
	if key, ok := s.classes.u.index[zoneLabel]; ok {
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
		zone := alternative.Get(zoneLabel)
		if zone.Operator() != requirement.In {
			return requirement.Requirement{}, false
		}
		names = append(names, zone.Values()...)
	}
	return requirement.New(zoneLabel, requirement.In, names...), len(alternatives) > 0
}

// leftByTopology is the part of zone that every required group on the zone label leaves, and all anti-affinity of others.
func (s *placer) leftByTopology(c *class, key int, zone requirement.Requirement) requirement.Requirement {
	st := &s.scratch.level
	*st = level{strict: c.alternatives[0], owned: st.owned[:0], hosts: st.hosts[:0]}
	for _, g := range c.owns.part(partRequired) {
		st.bind(c, g)
	}
	within := s.counts.domains.allowed(key, st.strict)
	states := groupStates(s.scratch.states[:0], st, key, within)
	s.scratch.states = states
	blocked := c.blocked(key)
	if len(states) == 0 && len(blocked) == 0 {
		return zone
	}
	left := s.scratch.names[:0]
	for d, name := range s.counts.domains.of(key).names {
		if room, _ := roomIn(states, d, within); room > 0 && !slices.Contains(blocked, d) {
			left = append(left, name)
		}
	}
	slices.Sort(left)
	s.scratch.names = left
	return zone.Intersect(requirement.New(zoneLabel, requirement.In, left...))
}
