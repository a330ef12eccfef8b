package compile

import (
	"math"
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// zoneCounts is in how many zones the volumes of pods can be used, for shapes that share a required spread with pods that have more choice.
type zoneCounts map[*model.Shape]int

// of is the number of zones of a shape; the maximum for shapes that are not listed.
func (z zoneCounts) of(s *model.Shape) int {
	if n, ok := z[s]; ok {
		return n
	}
	return math.MaxInt
}

// spreadID identifies the pods that a spread counts, and its label.
type spreadID struct{ key, namespace, selector string }

// spreadZones finds the shapes whose pods volumes bind to fewer zones than other pods of the same spread.
func spreadZones(shapes []*model.Shape) zoneCounts {
	bound := zoneCounts{}
	for _, s := range shapes {
		if n := volumeZones(s); n < math.MaxInt && len(requiredSpreads(s)) > 0 {
			bound[s] = n
		}
	}
	if len(bound) == 0 {
		return nil
	}
	most := map[spreadID]int{}
	for _, s := range shapes {
		for _, id := range requiredSpreads(s) {
			most[id] = max(most[id], bound.of(s))
		}
	}
	for s, n := range bound {
		if !slices.ContainsFunc(requiredSpreads(s), func(id spreadID) bool { return most[id] > n }) {
			delete(bound, s)
		}
	}
	return bound
}

// requiredSpreads are the required spreads of a shape over domains larger than a node.
func requiredSpreads(s *model.Shape) []spreadID {
	var out []spreadID
	for _, c := range s.Spreads {
		if !c.Soft && c.Key != HostnameKey && !c.Selector.Empty() {
			out = append(out, spreadID{c.Key, c.Namespace, c.Selector.Identity()})
		}
	}
	return out
}

// volumeZones is in how many zones the volumes of a shape can be used; the maximum if that is not restricted.
func volumeZones(s *model.Shape) int {
	if len(s.VolumeTopology) == 0 {
		return math.MaxInt
	}
	all := map[string]bool{}
	for _, reach := range s.VolumeTopology {
		zones := reach.Get(ZoneKey)
		if zones.Operator() != requirement.In {
			return math.MaxInt
		}
		for _, zone := range zones.Values() {
			all[zone] = true
		}
	}
	return len(all)
}
