package observe

import (
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// Nominated reports where a pod is expected to schedule: on a NodeClaim, a Node or both; an empty name is left out.
func Nominated(pod *corev1.Pod, nodeClaim, node string) Event {
	var targets []string
	if nodeClaim != "" {
		targets = append(targets, "nodeclaim/"+nodeClaim)
	}
	if node != "" {
		targets = append(targets, "node/"+node)
	}
	e := NormalEvent(pod, "Nominated", "Pod should schedule on: "+strings.Join(targets, ", "), string(pod.UID))
	e.Limited = true
	return e
}

// FailedScheduling reports why a pod fits no node and no node can be added for it. codes name the kinds of obstacle. They are dedupe
// values as well as the pod, so that an event about a new obstacle does not wait for the window of the old one.
func FailedScheduling(pod *corev1.Pod, why error, codes ...string) Event {
	dedupe := append([]string{string(pod.UID)}, codes...)
	return WarningEvent(pod, "FailedScheduling", fmt.Sprintf("Failed to schedule pod, %v", why), dedupe...).within(5 * time.Minute)
}

// PreferenceIgnored reports that preferences of a pod are not considered, because no new node could meet them or there are too many.
func PreferenceIgnored(pod *corev1.Pod, why string) Event {
	return WarningEvent(pod, "PreferenceIgnored", "Ignoring preferences of the pod, "+why, string(pod.UID)).within(time.Hour)
}

// NoCompatibleInstanceTypes reports that the requirements of a NodePool leave no instance type, with or without its minValues.
func NoCompatibleInstanceTypes(pool *v1.NodePool, minValues bool) Event {
	message := "NodePool requirements filtered out all compatible available instance types"
	if minValues {
		message += " due to minValues incompatibility"
	}
	return WarningEvent(pool, ReasonNoCompatibleInstanceTypes, message, string(pool.UID)).within(time.Minute)
}

// Reasons of conditions and events of a NodePool that has no effect as it is.
const (
	// ReasonNoCompatibleInstanceTypes means that its requirements leave no instance type.
	ReasonNoCompatibleInstanceTypes = "NoCompatibleInstanceTypes"
	// ReasonInvalidBudget means that one of its disruption budgets cannot be read.
	ReasonInvalidBudget = "InvalidBudget"
)

// NodePoolProblem reports what is wrong with a NodePool.
func NodePoolProblem(pool *v1.NodePool, reason, problem string) Event {
	return WarningEvent(pool, reason, problem, string(pool.UID), reason).within(time.Hour)
}

// UnknownRequirementKey reports a requirement of a NodePool on a label that no instance type has and that nearly is a well-known one.
func UnknownRequirementKey(pool *v1.NodePool, key, meant string) Event {
	return WarningEvent(pool, "UnknownRequirementKey", fmt.Sprintf(
		"Requirement on the label %q is not about instance types: nodes get it as a custom label; did you mean %q?", key, meant,
	), string(pool.UID), key).within(time.Hour)
}

// UnknownLimit reports a limit of a NodePool on a resource that no instance type has; meant asks for one that was probably meant, or is empty.
func UnknownLimit(pool *v1.NodePool, resource, meant string) Event {
	return WarningEvent(pool, "UnknownLimit", fmt.Sprintf(
		"No instance type has the resource %q of spec.limits: this limit keeps no node from being launched%s", resource, meant,
	), string(pool.UID), resource).within(time.Hour)
}

// UnsupportedNodeClass reports a NodePool whose NodeClass no controller in the cluster seems to know; meant is the kind that was probably meant,
// or empty.
func UnsupportedNodeClass(pool *v1.NodePool, kind string, known []string, meant string) Event {
	message := fmt.Sprintf(
		"The NodeClass is a %s; this controller supports %s, and no other controller has set a condition: nothing is launched", kind, strings.Join(known, ", "))
	if meant != "" {
		message += fmt.Sprintf("; did you mean %s? Group and kind of nodeClassRef are immutable: delete the NodePool and create it again", meant)
	}
	return WarningEvent(pool, "UnsupportedNodeClass", message, string(pool.UID)).within(time.Hour)
}

// DaemonSetTooLarge reports that nodes are launched without capacity for the pods of a DaemonSet, because no instance type of some NodePools
// could hold them.
func DaemonSetTooLarge(set *appsv1.DaemonSet, pools []string) Event {
	return WarningEvent(set, "DaemonSetTooLarge", fmt.Sprintf(
		"No instance type of NodePool %s has capacity for a pod of the DaemonSet beside those of other DaemonSets; nodes are launched without capacity for it",
		strings.Join(pools, ", ")), string(set.UID), strings.Join(pools, ",")).within(time.Hour)
}
