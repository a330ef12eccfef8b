package observe

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// notices are the events by the kind of what is told of an instance.
func notices() map[string]Event {
	told := func(eventType, reason, message string) Event {
		return Event{Type: eventType, Reason: reason, Message: message}
	}
	unhealthy := told(corev1.EventTypeWarning, "InstanceUnhealthy", "An unhealthy warning was triggered for the instance")
	return map[string]Event{
		"spot_interrupted": told(corev1.EventTypeWarning, "SpotInterrupted", "Spot interruption warning was triggered"),
		"capacity_reservation_interrupted": told(corev1.EventTypeWarning, "CapacityReservationInstanceInterrupted",
			"Capacity Reservation interruption warning was triggered"),
		"scheduled_change":         unhealthy,
		"event_status":             unhealthy,
		"instance_status":          unhealthy,
		"system_status":            unhealthy,
		"instance_stopped":         told(corev1.EventTypeWarning, "InstanceStopping", "Instance is stopping"),
		"instance_terminated":      told(corev1.EventTypeWarning, "InstanceTerminating", "Instance is terminating"),
		"rebalance_recommendation": told(corev1.EventTypeNormal, "SpotRebalanceRecommendation", "Spot rebalance recommendation was triggered"),
	}
}

// Interruption says what the cloud told of an instance, on its claim and on its node, which may be nil. Nothing is said of other kinds.
func Interruption(kind string, claim *v1.NodeClaim, node *corev1.Node) []Event {
	told, ok := notices()[kind]
	if !ok {
		return nil
	}
	told.Object, told.Dedupe = claim, []string{string(claim.UID)}
	out := []Event{told}
	if node != nil {
		told.Object, told.Dedupe = node, []string{string(node.UID)}
		out = append(out, told)
	}
	return out
}

// TerminatingOnInterruption says that a claim was deleted because of what the cloud told; node may be nil.
func TerminatingOnInterruption(claim *v1.NodeClaim, node *corev1.Node) []Event {
	const reason = "TerminatingOnInterruption"
	out := []Event{warning(claim, reason, "Interruption triggered termination for the NodeClaim", string(claim.UID))}
	if node != nil {
		out = append(out, warning(node, reason, "Interruption triggered termination for the Node", string(node.UID)))
	}
	return out
}

// ZonalShiftActive says that a pool gets no nodes in a zone, because traffic is shifted away from it.
func ZonalShiftActive(pool *v1.NodePool, zone, id string) Event {
	message := fmt.Sprintf("Zonal shift detected: offerings in zone %s (%s) are unavailable for this NodePool", zone, id)
	return warning(pool, "ZonalShiftActive", message, string(pool.UID), id)
}

// ZonalShiftCleared says that a pool gets nodes in a zone again.
func ZonalShiftCleared(pool *v1.NodePool, zone, id string) Event {
	message := fmt.Sprintf("Zonal shift cleared: offerings in zone %s (%s) are restored for this NodePool", zone, id)
	return normal(pool, "ZonalShiftCleared", message, string(pool.UID), id)
}
