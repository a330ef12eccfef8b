// Package condition is the status condition engine shared by every Karpenter kind that reports a root condition.
//
// An object declares one root condition (Ready) and the dependent conditions it is computed from; every other type is
// independent and never influences the root. The engine keeps the list complete (missing root and dependents appear
// as Unknown), stamps generations and transition times, and recomputes the root after each write. All functions work
// on the object in memory; persisting the result is the caller's business.
//
// Source: spec API, status conditions, engine rules.
package condition

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Reasons and the message that the engine itself writes.
const (
	// ReasonAwaitingReconciliation marks a root or dependent condition that no controller has set yet.
	ReasonAwaitingReconciliation = "AwaitingReconciliation"
	// ReasonReady is the root's reason when every dependent is True at the current generation.
	ReasonReady = "Ready"
	// ReasonUnhealthyDependents is the root's reason when a dependent is False at the current generation.
	ReasonUnhealthyDependents = "UnhealthyDependents"
	// ReasonReconcilingDependents is the root's reason when a dependent is Unknown or was observed at another generation.
	ReasonReconcilingDependents = "ReconcilingDependents"

	messageAwaitingReconciliation = "object is awaiting reconciliation"
)

// Types names the conditions of a kind that take part in its readiness.
type Types struct {
	// Root is the summary condition, Ready for every kind.
	Root string
	// Dependents are the conditions the root is computed from, in the order in which they usually become True.
	Dependents []string
}

// Object is an API object whose status holds a condition list kept by this engine.
type Object interface {
	metav1.Object
	// ConditionList returns the address of the list in the object's status, never nil.
	ConditionList() *[]metav1.Condition
	// ConditionTypes names the root and its dependents; it is a constant of the kind.
	ConditionTypes() Types
}

// Status returns the status of one condition without changing the object; a condition that is not there is Unknown.
func Status(o Object, conditionType string) metav1.ConditionStatus {
	for _, c := range *o.ConditionList() {
		if c.Type == conditionType {
			return c.Status
		}
	}
	return metav1.ConditionUnknown
}
