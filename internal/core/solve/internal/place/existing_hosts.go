package place

import (
	"slices"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve/internal/compile"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
)

// FillHosts places pods that are spread over nodes and for which no node can be launched on existing nodes. First fit measures their skew
// from zero, as a new node would have no pods. Without one, kube-scheduler measures from the node with the fewest pods among those that
// there are.
//
// Cost: one pass over these pods for each pod that the emptiest node takes.
func (s *Placer) FillHosts() {
	var rest []PodRun
	for _, r := range s.Unschedulable {
		if groups := hostSpreads(r.Class); len(groups) > 0 {
			r.Pods = fillHosts(s, r, groups)
		}
		if len(r.Pods) > 0 {
			rest = append(rest, r)
		}
	}
	s.Unschedulable = rest
}

// hostSpreads are the required spreads of a class over nodes.
func hostSpreads(c *compile.Class) []*compile.Group {
	required := slices.Clone(c.Owns.Part(compile.PartRequired))
	return slices.DeleteFunc(required, func(g *compile.Group) bool { return !g.Host || g.Kind != topology.KindSpread })
}

// fillHosts places the pods of a run on existing nodes, as long as the emptiest of these gets more pods, and returns the others.
func fillHosts(s *Placer, r PodRun, groups []*compile.Group) []*model.Pod {
	pods := r.Pods
	for len(pods) > 0 && !s.Stopped() {
		if !s.MeasureHosts(groups) {
			break
		}
		r.Class.Retry()
		left := placeOnTargets(s, r.Class, pods)
		if len(left) == len(pods) {
			break
		}
		pods = left
	}
	for _, g := range groups {
		g.HostFloor = 0
	}
	return pods
}

// placeOnTargets places pods on existing nodes, until the counts of domains have changed, and returns the others.
func placeOnTargets(s *Placer, c *compile.Class, pods []*model.Pod) []*model.Pod {
	for _, lv := range s.Classes.LevelsOf(c) {
		options := s.Options(s.buffer[:0], c, lv)
		s.buffer = options
		for _, o := range options {
			if s.tick() {
				return pods
			}
			if rest := s.placeOnNodes(c, lv, o, pods); len(rest) < len(pods) {
				return rest
			}
		}
	}
	return pods
}
