package cloud

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// RepairAction is what happens to a node that a RepairPolicy calls unhealthy.
type RepairAction string

const (
	// ReplaceNode replaces the node.
	ReplaceNode RepairAction = "ReplaceNode"
	// RebootNode reboots the node.
	RebootNode RepairAction = "RebootNode"
)

// RepairPolicy calls a node unhealthy when a condition has held a status, for one of some reasons, for too long. A set has exactly one
// policy without an expression.
//
// Source: behavior specification, repair policies.
type RepairPolicy struct {
	// ConditionType is the type of the node condition.
	ConditionType corev1.NodeConditionType
	// ConditionStatus is the status that counts as unhealthy.
	ConditionStatus corev1.ConditionStatus
	// ReasonRegex is an expression of package regexp that occurs in the reason of the condition. The policy without one is the default
	// of the set: it matches conditions of all policies for which no expression occurs in the reason.
	ReasonRegex string
	// TolerationDuration is how long the status may last before the node is repaired.
	TolerationDuration time.Duration
	// TerminationGracePeriod limits the drain, if it is shorter than that of the NodeClaim: 0 deletes pods at once, nil sets no limit.
	TerminationGracePeriod *time.Duration
	// Priority is between 0 and 100. Nodes with a higher one are repaired first.
	Priority int
	// Action is ReplaceNode or RebootNode; the default of the set replaces.
	Action RepairAction
}
