package problem

import (
	"time"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
)

// StrandedAfter is how long the pods of a group may be pending although existing nodes have places for them. kube-scheduler retries a group
// within seconds after a change that may help it.
const StrandedAfter = 2 * time.Minute

// PlacedGroups are the groups with pending pods that a plan places on nodes that have started, and those of which it places some elsewhere, by
// ID.
func PlacedGroups(plan solve.Plan, in solve.Problem) (onNodes, starting map[string]bool) {
	onNodes, starting = map[string]bool{}, map[string]bool{}
	put := func(into map[string]bool, pods []*model.Pod) {
		for _, pod := range pods {
			if group := in.GroupOf(pod); group != "" && pod.Node == "" {
				into[group] = true
			}
		}
	}
	for _, placed := range plan.Placements {
		if HasStarted(placed.Node) {
			put(onNodes, placed.Pods)
		} else {
			put(starting, placed.Pods)
		}
	}
	for _, claim := range plan.NodeClaims {
		put(starting, claim.Pods)
	}
	return onNodes, starting
}

// HasStarted reports whether kube-scheduler can bind pods to the node.
func HasStarted(n *model.Node) bool { return n.Initialized || n.ClaimName == "" }
