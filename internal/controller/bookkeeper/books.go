// Package bookkeeper records in the ledger what controllers do, follows the life of every NodeClaim, and counts what disruption commands
// save.
//
// Controllers record their decisions themselves, with Books. The Follower watches NodeClaims, so that their life is recorded whichever
// client changes them, and lists the fleet from time to time; Savings counts.
package bookkeeper

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/cost"
	"github.com/karpenter-anew/karpenter/internal/ledger"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

// Books are what controllers record with. It is safe for concurrent use. Nil Books record nothing: callers need no check, but for work
// that is only for a record.
type Books struct {
	ledger  *ledger.Ledger
	clock   clock.Clock
	metrics *observe.Metrics
	prices  *prices
	savings *savings
	fleet   fleet
	run     string
}

// Deps are the dependencies of Books.
type Deps struct {
	Ledger *ledger.Ledger
	Clock  clock.Clock
	// Client reads NodePools from the cache.
	Client  client.Reader
	Cloud   cloud.Cloud
	Metrics *observe.Metrics
}

// New returns Books.
func New(d Deps) *Books {
	b := &Books{ledger: d.Ledger, clock: d.Clock, metrics: d.Metrics, prices: newPrices(d), run: string(uuid.NewUUID())}
	b.savings = newSavings(b)
	return b
}

// Source is where Books are kept.
type Source struct {
	// Records has them; nil records nothing.
	Records *ledger.Ledger
	// Begin is called when the process becomes the leader.
	Begin Begin
}

// Append records something.
func (b *Books) Append(r ledger.Record) {
	if b != nil {
		b.ledger.Append(r)
	}
}

// Since is the time since then, in seconds.
func (b *Books) Since(t time.Time) float64 { return b.clock.Since(t).Seconds() }

// Hash is the beginning of the hash of an input.
func (b *Books) Hash() ledger.Hash { return ledger.NewHash(b.run) }

// FleetCost is what the NodeClaims with an instance cost, for a pass that changes that by delta, in dollars per hour; nil until all NodeClaims
// are known.
func (b *Books) FleetCost(delta float64, unpriced int) *ledger.Cost {
	return b.fleet.cost(delta, unpriced)
}

// Created records that a controller created a NodeClaim. pods are those that it is for, types the candidates of the launch, cheapest
// first; command is the disruption command that it belongs to, or empty.
func (b *Books) Created(claim *v1.NodeClaim, reason, command string, pods, types ledger.Names) {
	if b == nil {
		return
	}
	event := &ledger.NodeClaimEvent{Event: ledger.Created, NodeClaimState: withoutPhase(claim), Reason: reason, Command: command}
	if pods.Count > 0 {
		event.Pods = &pods
	}
	if types.Count > 0 {
		event.InstanceTypes = &types
	}
	b.Append(ledger.Record{Kind: ledger.KindNodeClaim, NodeClaim: event})
}

// Disrupted records that a controller deleted a NodeClaim, or reboots its node.
func (b *Books) Disrupted(claim *v1.NodeClaim, reason, command string) {
	if b == nil {
		return
	}
	b.Append(ledger.Record{Kind: ledger.KindNodeClaim, NodeClaim: &ledger.NodeClaimEvent{
		Event: ledger.Disrupted, NodeClaimState: withoutPhase(claim), Reason: reason, Command: command,
	}})
}

// State is a node of a snapshot with its price.
func (b *Books) State(ctx context.Context, n *model.Node) ledger.NodeClaimState {
	o := cost.OfferingOf(n.Labels)
	price, known := b.prices.of(ctx, n.Pool).price(o)
	return ledger.NodeClaimState{
		Name: n.ClaimName, Node: n.NodeName, NodePool: n.Pool, ProviderID: n.ProviderID,
		InstanceType: o.InstanceType, Zone: o.Zone, CapacityType: o.CapacityType, Price: ledger.Known(price, known),
	}
}

// stateOf is a NodeClaim without its price.
func stateOf(claim *v1.NodeClaim) ledger.NodeClaimState {
	out := ledger.NodeClaimState{
		Name: claim.Name, UID: string(claim.UID), Node: claim.Status.NodeName, NodePool: claim.Labels[v1.NodePoolLabelKey],
		ProviderID: claim.Status.ProviderID, Phase: phaseOf(claim),
	}
	if out.ProviderID == "" {
		return out // labels are requirements until the launch
	}
	o := cost.OfferingOf(claim.Labels)
	out.InstanceType, out.Zone, out.CapacityType = o.InstanceType, o.Zone, o.CapacityType
	if len(claim.Status.Allocatable) > 0 {
		out.Allocatable = quantities(claim.Status.Allocatable)
	}
	return out
}

// withoutPhase is a NodeClaim for an event that says the phase.
func withoutPhase(claim *v1.NodeClaim) ledger.NodeClaimState {
	out := stateOf(claim)
	out.Phase = ""
	return out
}

func quantities(list corev1.ResourceList) map[string]string {
	out := make(map[string]string, len(list))
	for name, quantity := range list {
		if !quantity.IsZero() {
			out[string(name)] = quantity.String()
		}
	}
	return out
}

// phaseOf is how far a NodeClaim is.
func phaseOf(claim *v1.NodeClaim) ledger.Phase {
	switch {
	case claim.DeletionTimestamp != nil:
		return ledger.Deleting
	case condition.Status(claim, v1.ConditionTypeInitialized) == "True":
		return ledger.Initialized
	case condition.Status(claim, v1.ConditionTypeRegistered) == "True":
		return ledger.Registered
	case condition.Status(claim, v1.ConditionTypeLaunched) == "True":
		return ledger.Launched
	default:
		return ledger.Created
	}
}
