package cloud

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// RepairPolicy calls a node unhealthy when a condition has held a status for too long.
//
// Source: disruption specification, node repair.
type RepairPolicy struct {
	// ConditionType is the type of the node condition.
	ConditionType corev1.NodeConditionType
	// ConditionStatus is the status that counts as unhealthy.
	ConditionStatus corev1.ConditionStatus
	// TolerationDuration is how long the status may last before the node is replaced.
	TolerationDuration time.Duration
}
