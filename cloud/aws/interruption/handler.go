package interruption

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awsfield"
	"github.com/karpenter-anew/karpenter/cloud/aws/eventbridge"
	"github.com/karpenter-anew/karpenter/cloud/aws/instancelookup"
	"github.com/karpenter-anew/karpenter/cloud/aws/telemetry"
	"github.com/karpenter-anew/karpenter/cloud/aws/unavailableofferings"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// Action is what the handler does for a kind of event.
type Action string

// The actions: only publish an event; delete the NodeClaim, so that its node is drained; drain without grace period.
const (
	ActionNone  Action = "none"
	ActionDrain Action = "drain"
	ActionForce Action = "force"
)

// ActionFor returns the action for a kind of event.
func ActionFor(kind eventbridge.Kind) Action {
	switch kind {
	case eventbridge.InstanceStatus, eventbridge.SystemStatus:
		return ActionForce
	case eventbridge.NoOp, eventbridge.RebalanceRecommendation:
		return ActionNone
	default:
		return ActionDrain
	}
}

// Handler acts on interruption events. It is safe for concurrent use.
type Handler struct {
	// Client reads from a cache with the indexes of package instancelookup.
	Client client.Client
	Clock  clock.PassiveClock
	// Manages reports whether a NodeClaim is of this provider.
	Manages func(*v1.NodeClassReference) bool
	// Fresh reports whether an instance was launched a moment ago, so that its NodeClaim may not be in the cache yet.
	Fresh    func(instanceID string) bool
	Recorder *observe.Recorder
	Metrics  *observe.Metrics
	// UnavailableOfferings records capacity that EC2 reclaims.
	UnavailableOfferings *unavailableofferings.Cache
}

// Handle acts on an event, for each of its instances. Instances without a NodeClaim are ignored.
func (r *Handler) Handle(ctx context.Context, n eventbridge.Event) error {
	if n.Kind == eventbridge.NoOp {
		return nil
	}
	var errs []error
	for _, id := range n.InstanceIDs {
		errs = append(errs, r.handleFor(ctx, n.Kind, id))
	}
	return errors.Join(errs...)
}

func (r *Handler) handleFor(ctx context.Context, kind eventbridge.Kind, id string) error {
	claims, err := instancelookup.NodeClaims(ctx, r.Client, id)
	if err != nil {
		return err
	}
	if len(claims) == 0 {
		if r.Fresh(id) {
			return fmt.Errorf("the nodeclaim of instance %q, which was launched a moment ago, is not seen yet", id)
		}
		return nil
	}
	nodes, err := instancelookup.Nodes(ctx, r.Client, id)
	if err != nil {
		return err
	}
	var node *corev1.Node
	if len(nodes) > 0 {
		node = &nodes[0]
	}
	var errs []error
	for i := range claims {
		if claim := &claims[i]; r.Manages(claim.Spec.NodeClassRef) {
			r.recordCapacity(kind, claim)
			r.Recorder.Publish(telemetry.Interruption(kind, claim, node)...)
			errs = append(errs, r.act(ctx, kind, claim, node))
		}
	}
	return errors.Join(errs...)
}

// recordCapacity records what an event says about capacity.
func (r *Handler) recordCapacity(kind eventbridge.Kind, claim *v1.NodeClaim) {
	pool := unavailableofferings.Offering{
		InstanceType: claim.Labels[corev1.LabelInstanceTypeStable], Zone: claim.Labels[corev1.LabelTopologyZone],
		PlacementGroup: claim.Labels[awsv1.LabelPlacementGroupID],
	}
	switch kind {
	case eventbridge.SpotInterrupted:
		pool.CapacityType = v1.CapacityTypeSpot
		if pool.InstanceType != "" && pool.Zone != "" {
			r.UnavailableOfferings.MarkUnavailable(pool)
		}
	case eventbridge.CapacityReservationInterrupted:
		pool.CapacityType, pool.Reservation = v1.CapacityTypeReserved, claim.Labels[awsv1.LabelCapacityReservationID]
		if pool.InstanceType != "" && pool.Zone != "" && pool.Reservation != "" {
			r.UnavailableOfferings.MarkUnavailable(pool)
		}
	}
}

// act deletes a NodeClaim, if the action says so. For one that is being deleted it may still end the grace period.
func (r *Handler) act(ctx context.Context, kind eventbridge.Kind, claim *v1.NodeClaim, node *corev1.Node) error {
	action := ActionFor(kind)
	if action == ActionNone {
		return nil
	}
	if action == ActionForce {
		if err := r.expire(ctx, claim); err != nil {
			return err
		}
	}
	if !claim.DeletionTimestamp.IsZero() {
		return nil
	}
	if err := r.Client.Delete(ctx, claim, client.Preconditions{UID: &claim.UID}); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return nil
		}
		return fmt.Errorf("deleting nodeclaim %q: %w", claim.Name, err)
	}
	nodeName := ""
	if node != nil {
		nodeName = node.Name
	}
	observe.Log(ctx).InfoContext(ctx, "deleted nodeclaim because of an interruption", awsfield.MessageKind(string(kind)), logfield.Action(string(action)),
		logfield.NodeClaim(claim.Name), logfield.Node(nodeName), logfield.ProviderID(claim.Status.ProviderID))
	r.Recorder.Publish(observe.TerminatingOnInterruption(claim, node)...)
	r.Metrics.CountDisrupted(claim, string(kind))
	return nil
}

// expire sets the deadline of a NodeClaim to now, unless it has one, which ends the grace period of its drain.
func (r *Handler) expire(ctx context.Context, claim *v1.NodeClaim) error {
	if claim.Annotations[v1.NodeClaimTerminationTimestampAnnotationKey] != "" {
		return nil
	}
	before := claim.DeepCopy()
	if claim.Annotations == nil {
		claim.Annotations = map[string]string{}
	}
	claim.Annotations[v1.NodeClaimTerminationTimestampAnnotationKey] = r.Clock.Now().Format(time.RFC3339)
	err := r.Client.Patch(ctx, claim, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("setting the deadline of nodeclaim %q: %w", claim.Name, err)
	}
	return nil
}
