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

// tier is how little is lost with a claim; lower tiers go first.
type tier int

const (
	// unlaunched claims have no machine yet.
	unlaunched tier = iota
	// empty machines run nothing that would have to move and nothing that asks not to be disturbed.
	empty
	// busy machines run pods, none of which asks not to be disturbed.
	busy
	// protected machines run a pod that asks not to be disturbed.
	protected
)

// dispensable is a claim with the price of its loss.
type removalCandidate struct {
	claim cluster.PoolNodeClaim
	tier  tier
	// cost orders claims of a tier: the eviction costs of the pods, times the share of its life that the machine has left.
	cost float64
}

// load is the pods of one machine.
type nodePods struct {
	pods, protected bool
	cost            float64
}

// add counts a pod. Finished pods are nothing to lose.
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

// lifeLeft is the share of its life that a machine has left, from 1 to 0; 1 if it never expires.
func lifeLeft(claim cluster.PoolNodeClaim, now time.Time) float64 {
	life := claim.Claim.Spec.ExpireAfter.Duration
	if life == nil || *life <= 0 {
		return 1
	}
	age := now.Sub(claim.Claim.CreationTimestamp.Time)
	return min(max(float64(*life-age)/float64(*life), 0), 1)
}

// byDispensability puts first what is missed least. Of equals the younger goes first: it has had the least time to get used.
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
