package static

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/api/podrules"
	"github.com/karpenter-anew/karpenter/internal/cluster"
)

// tier orders NodeClaims by what their removal disrupts; lower tiers are removed first.
type tier int

const (
	// unlaunched NodeClaims have no instance.
	unlaunched tier = iota
	// empty nodes have no pods to move and no do-not-disrupt pods.
	empty
	// busy nodes have pods to move, none of them do-not-disrupt.
	busy
	// protected nodes have a do-not-disrupt pod.
	protected
)

// removalCandidate is a NodeClaim with the cost of its removal.
type removalCandidate struct {
	claim cluster.PoolNodeClaim
	tier  tier
	// cost orders claims of a tier: the eviction costs of the pods, times the share of its lifetime that the node has left.
	cost float64
}

// nodePods sums up the pods of one node.
type nodePods struct {
	pods, protected bool
	cost            float64
}

// add counts a pod. Terminal pods do not count.
func (l *nodePods) add(pod *corev1.Pod, evictionCost float64, now time.Time) {
	if podrules.Terminal(pod) {
		return
	}
	l.cost += evictionCost
	l.pods = l.pods || !podrules.OwnedByDaemonSet(pod) && !podrules.OwnedByNode(pod)
	l.protected = l.protected || !podrules.Disruptable(pod, now)
}

func rank(claim cluster.PoolNodeClaim, l nodePods, now time.Time) removalCandidate {
	d := removalCandidate{claim: claim, cost: l.cost * lifeLeft(claim, now)}
	switch {
	case claim.Claim.Status.ProviderID == "":
		d.tier = unlaunched
	case l.protected:
		d.tier = protected
	case l.pods:
		d.tier = busy
	default:
		d.tier, d.cost = empty, 0
	}
	return d
}

// lifeLeft is the share of its lifetime that a node has left, from 1 to 0; 1 if it never expires.
func lifeLeft(claim cluster.PoolNodeClaim, now time.Time) float64 {
	life := claim.Claim.Spec.ExpireAfter.Duration
	if life == nil || *life <= 0 {
		return 1
	}
	age := now.Sub(claim.Claim.CreationTimestamp.Time)
	return min(max(1-float64(age)/float64(*life), 0), 1)
}

// byRemovalCost sorts by tier and cost, lowest first. Of equals the younger is first.
func byRemovalCost(list []removalCandidate) []removalCandidate {
	out := slices.Clone(list)
	slices.SortFunc(out, func(a, b removalCandidate) int {
		return cmp.Or(
			cmp.Compare(a.tier, b.tier),
			cmp.Compare(a.cost, b.cost),
			b.claim.Claim.CreationTimestamp.Compare(a.claim.Claim.CreationTimestamp.Time),
			strings.Compare(a.claim.Claim.Name, b.claim.Claim.Name),
		)
	})
	return out
}
