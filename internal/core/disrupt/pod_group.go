package disrupt

import "github.com/karpenter-anew/karpenter/internal/core/model"

// spreadGroups are the groups whose pods are disrupted together or not at all and run on several nodes, by ID.
//
// Source: specification of version 1.15, groups.
func spreadGroups(snapshot *model.Snapshot) map[string]bool {
	if snapshot.PodGroups == nil || snapshot.PodGroups.Len() == 0 {
		return nil
	}
	together := map[string]bool{}
	for id, g := range snapshot.PodGroups.All() {
		if g.DisruptedTogether {
			together[id] = true
		}
	}
	if len(together) == 0 {
		return nil
	}
	on, spread := map[string]*model.Node{}, map[string]bool{}
	for _, n := range snapshot.Nodes.All() { // the order does not matter
		for _, pod := range n.Pods {
			if pod.Membership == nil || pod.Terminating || !together[pod.Membership.Group] {
				continue
			}
			group := pod.Membership.Group
			if on[group] == nil {
				on[group] = n
			}
			spread[group] = spread[group] || on[group] != n
		}
	}
	return spread
}

// splitsGroup reports whether some pod to move belongs to one of the groups.
func splitsGroup(pods []*model.Pod, spread map[string]bool) bool {
	for _, pod := range pods {
		if pod.Membership != nil && spread[pod.Membership.Group] {
			return true
		}
	}
	return false
}
