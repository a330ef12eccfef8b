package compile

import (
	"cmp"
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// GroupOf is the ID of the group of a pod, whether it exists or not; empty if the pod has none. Virtual pods never have one.
func (p *Problem) GroupOf(pod *model.Pod) string {
	if pod.Membership == nil || pod.Virtual || p.PodGroups == nil {
		return ""
	}
	return pod.Membership.Group
}

// orderedGroup is a group in the queue, with its pods in order of creation, as kube-scheduler tries them: what another order places on nodes
// that exist, it may never place. Pods of the same time are in order of trial.
type orderedGroup struct {
	id      string
	created int64
	pods    []*model.Pod
}

// together moves the pods of each group behind its first one. pods are in order, and those up to each of ends are equal in rank: groups whose
// first pods are equal in rank are ordered by creation and name, in the places of these pods.
func (p *Problem) together(pods []*model.Pod, ends []int) []*model.Pod {
	groups := p.groupsIn(pods)
	if len(groups) == 0 {
		return pods
	}
	out := make([]*model.Pod, 0, len(pods))
	seen := map[string]bool{}
	start := 0
	for _, end := range ends {
		var heads []*orderedGroup
		head := map[string]bool{}
		for _, pod := range pods[start:end] {
			if id := p.GroupOf(pod); id != "" && !seen[id] {
				seen[id], head[id] = true, true
				heads = append(heads, groups[id])
			}
		}
		slices.SortFunc(heads, func(a, b *orderedGroup) int {
			return cmp.Or(cmp.Compare(a.created, b.created), strings.Compare(a.id, b.id))
		})
		for _, pod := range pods[start:end] {
			id := p.GroupOf(pod)
			switch {
			case id == "":
				out = append(out, pod)
			case head[id]:
				out = append(out, heads[0].pods...)
				heads, head[id] = heads[1:], false
			}
		}
		start = end
	}
	return out
}

// groupsIn are the groups of pods, by ID.
func (p *Problem) groupsIn(pods []*model.Pod) map[string]*orderedGroup {
	var groups map[string]*orderedGroup
	for _, pod := range pods {
		id := p.GroupOf(pod)
		if id == "" {
			continue
		}
		if groups == nil {
			groups = map[string]*orderedGroup{}
		}
		g := groups[id]
		if g == nil {
			g = &orderedGroup{id: id}
			if known, exists := p.PodGroups.Get(id); exists {
				g.created = known.Created
			}
			groups[id] = g
		}
		g.pods = append(g.pods, pod)
	}
	for _, g := range groups {
		slices.SortStableFunc(g.pods, func(a, b *model.Pod) int { return cmp.Compare(a.Created, b.Created) })
	}
	return groups
}
