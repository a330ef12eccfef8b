// Package telemetry defines the metrics and the Kubernetes events that only the provider for AWS has.
package telemetry

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/eventbridge"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

// SpotRoleMissing says that spot instances cannot be launched, because the service-linked role for them may not be created. It has no
// reason, as in upstream Karpenter; one more value of its repetition tells it from other events without a reason.
func SpotRoleMissing(claim *v1.NodeClaim) observe.Event {
	const message = `Attempted to launch a spot instance but failed due to "AuthFailure.ServiceLinkedRoleCreationNotPermitted"`
	return observe.WarningEvent(claim, "", message, string(claim.UID), "spot")
}

// Interruption says what AWS announced for an instance, on its NodeClaim and on its node, which may be nil. Kinds without an event
// yield none.
func Interruption(kind eventbridge.Kind, claim *v1.NodeClaim, node *corev1.Node) []observe.Event {
	event, ok := interruptions()[kind]
	if !ok {
		return nil
	}
	event.Object, event.Dedupe = claim, []string{string(claim.UID)}
	out := []observe.Event{event}
	if node != nil {
		event.Object, event.Dedupe = node, []string{string(node.UID)}
		out = append(out, event)
	}
	return out
}

// interruptions returns type, reason and message of the events by kind.
func interruptions() map[eventbridge.Kind]observe.Event {
	event := func(eventType, reason, message string) observe.Event {
		return observe.Event{Type: eventType, Reason: reason, Message: message}
	}
	unhealthy := event(corev1.EventTypeWarning, "InstanceUnhealthy", "An unhealthy warning was triggered for the instance")
	return map[eventbridge.Kind]observe.Event{
		eventbridge.SpotInterrupted: event(corev1.EventTypeWarning, "SpotInterrupted", "Spot interruption warning was triggered"),
		eventbridge.CapacityReservationInterrupted: event(corev1.EventTypeWarning, "CapacityReservationInstanceInterrupted",
			"Capacity Reservation interruption warning was triggered"),
		eventbridge.ScheduledChange:         unhealthy,
		eventbridge.EventStatus:             unhealthy,
		eventbridge.InstanceStatus:          unhealthy,
		eventbridge.SystemStatus:            unhealthy,
		eventbridge.InstanceStopped:         event(corev1.EventTypeWarning, "InstanceStopping", "Instance is stopping"),
		eventbridge.InstanceTerminated:      event(corev1.EventTypeWarning, "InstanceTerminating", "Instance is terminating"),
		eventbridge.RebalanceRecommendation: event(corev1.EventTypeNormal, "SpotRebalanceRecommendation", "Spot rebalance recommendation was triggered"),
	}
}

// ZonalShiftActive says that a NodePool gets no nodes in a zone, because ARC shifts traffic away from it.
func ZonalShiftActive(pool *v1.NodePool, zone, id string) observe.Event {
	message := fmt.Sprintf("Zonal shift detected: offerings in zone %s (%s) are unavailable for this NodePool", zone, id)
	return observe.WarningEvent(pool, "ZonalShiftActive", message, string(pool.UID), id)
}

// ZonalShiftCleared says that a NodePool gets nodes in a zone again.
func ZonalShiftCleared(pool *v1.NodePool, zone, id string) observe.Event {
	message := fmt.Sprintf("Zonal shift cleared: offerings in zone %s (%s) are restored for this NodePool", zone, id)
	return observe.NormalEvent(pool, "ZonalShiftCleared", message, string(pool.UID), id)
}

// ExampleEvents returns every event of the provider once, for its reference: about a NodeClaim, its node and its NodePool.
func ExampleEvents(claim *v1.NodeClaim, node *corev1.Node, pool *v1.NodePool) []observe.Event {
	out := []observe.Event{SpotRoleMissing(claim)}
	for _, kind := range []eventbridge.Kind{
		eventbridge.SpotInterrupted, eventbridge.RebalanceRecommendation, eventbridge.CapacityReservationInterrupted,
		eventbridge.ScheduledChange, eventbridge.InstanceStopped, eventbridge.InstanceTerminated,
	} {
		out = append(out, Interruption(kind, claim, node)...)
	}
	return append(out, ZonalShiftActive(pool, "us-east-1a", "use1-az1"), ZonalShiftCleared(pool, "us-east-1a", "use1-az1"),
		observe.WaitingOnNodeClaimTermination(&awsv1.EC2NodeClass{}, "nodeclass-uid", []string{claim.Name}))
}
