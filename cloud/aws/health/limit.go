package health

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awsfield"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// maxForcedShare is the share of a zone's NodeClaims, one in so many and at least one, that may be terminated forcefully at the same time.
const maxForcedShare = 5

// zoneTerminations is how many NodeClaims a zone has, and how many of them are being terminated forcefully.
type zoneTerminations struct{ claims, forced int }

// limitForced postpones forceful terminations: all in zones with an active zonal shift, and in other zones those of the instances that are
// impaired the shortest, above the share that a zone may lose at a time. The next poll looks at them again.
func (p *Poller) limitForced(ctx context.Context, instances []*impairedInstance) error {
	var forced []*impairedInstance
	for _, one := range instances {
		if one.since.IsZero() || p.isForced(one.claim) {
			continue // already terminated forcefully
		}
		if p.Shifted != nil && p.Shifted(one.claim.Labels[awsv1.LabelZoneID]) {
			p.postpone(ctx, one, "a zonal shift is active in the zone")
			continue
		}
		forced = append(forced, one)
	}
	if len(forced) == 0 {
		return nil
	}
	loads, err := p.terminationsByZone(ctx)
	if err != nil {
		return err
	}
	slices.SortFunc(forced, func(a, b *impairedInstance) int { return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.id, b.id)) })
	for _, one := range forced {
		load := loads[one.claim.Labels[corev1.LabelTopologyZone]]
		if load == nil {
			continue // the NodeClaim is not in the cache yet
		}
		if load.forced >= (load.claims+maxForcedShare-1)/maxForcedShare {
			p.postpone(ctx, one, "too many instances of the zone are being terminated")
			continue
		}
		load.forced++
	}
	return nil
}

// postpone drops the conditions that call for forceful termination until the next poll.
func (p *Poller) postpone(ctx context.Context, one *impairedInstance, why string) {
	one.conditions = slices.DeleteFunc(slices.Clone(one.conditions), func(c unhealthyCondition) bool { return c.force })
	observe.Log(ctx).InfoContext(ctx, "termination of an unhealthy instance is postponed", awsfield.ID(one.id), logfield.NodeClaim(one.claim.Name), logfield.Reason(why))
}

// isForced reports whether a NodeClaim is being terminated forcefully: its deadline is over.
func (p *Poller) isForced(claim *v1.NodeClaim) bool {
	if claim.DeletionTimestamp.IsZero() {
		return false
	}
	deadline, err := time.Parse(time.RFC3339, claim.Annotations[v1.NodeClaimTerminationTimestampAnnotationKey])
	return err == nil && !deadline.After(p.Clock.Now())
}

// terminationsByZone counts NodeClaims and forceful terminations by zone.
func (p *Poller) terminationsByZone(ctx context.Context) (map[string]*zoneTerminations, error) {
	var claims v1.NodeClaimList
	if err := p.Client.List(ctx, &claims); err != nil {
		return nil, fmt.Errorf("listing nodeclaims: %w", err)
	}
	out := map[string]*zoneTerminations{}
	for i := range claims.Items {
		claim := &claims.Items[i]
		zone := claim.Labels[corev1.LabelTopologyZone]
		if zone == "" || !p.Manages(claim.Spec.NodeClassRef) {
			continue
		}
		if out[zone] == nil {
			out[zone] = &zoneTerminations{}
		}
		out[zone].claims++
		if p.isForced(claim) {
			out[zone].forced++
		}
	}
	return out, nil
}
