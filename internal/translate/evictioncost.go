package translate

import (
	"math"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// evictionCosts reads what the eviction of pods costs from their annotations.
type evictionCosts struct {
	// ranked is set while deletion cost management writes controller.kubernetes.io/pod-deletion-cost, which is not read then.
	ranked bool
}

// InvalidCost is an annotation of a pod that is not a base-10 32-bit integer. It counts as 0.
type InvalidCost struct {
	Annotation, Value string
	Cause             error
}

// Error is the message of upstream.
func (e *InvalidCost) Error() string {
	if e.Annotation == v1.DisruptionCostAnnotationKey {
		return "failed parsing disruption cost"
	}
	return "failed parsing pod deletion cost"
}

// Unwrap returns why the value cannot be parsed.
func (e *InvalidCost) Unwrap() error { return e.Cause }

// CheckCost returns the annotation of a pod that should be the cost of its disruption and is not an integer; nil if there is none.
func (t *Translator) CheckCost(pod *corev1.Pod) *InvalidCost {
	_, invalid := t.costs.disruptionCost(pod)
	return invalid
}

// disruptionCost returns what the owner of a pod says about the cost of its disruption, 0 if nothing. The annotation
// karpenter.sh/disruption-cost precedes the deletion cost, even if it is invalid.
//
// The lowest deletion cost of all counts as 0: deletion cost management, also upstream's, leaves it on the pods of nodes that were being removed
// when it was turned off, and a node with such pods would count as empty.
//
// Source: specification of v1.15, pod deletion cost management and migration.
func (c evictionCosts) disruptionCost(pod *corev1.Pod) (int32, *InvalidCost) {
	if text, ok := pod.Annotations[v1.DisruptionCostAnnotationKey]; ok {
		return parseCost(v1.DisruptionCostAnnotationKey, text)
	}
	if c.ranked {
		return 0, nil
	}
	text, ok := pod.Annotations[corev1.PodDeletionCost]
	if !ok {
		return 0, nil
	}
	cost, invalid := parseCost(corev1.PodDeletionCost, text)
	if cost == math.MinInt32 {
		return 0, nil
	}
	return cost, invalid
}

func parseCost(annotation, text string) (int32, *InvalidCost) {
	cost, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0, &InvalidCost{Annotation: annotation, Value: text, Cause: err}
	}
	return int32(cost), nil
}

// of is clamp(1 + disruptionCost/2^27 + priority/2^25, −10, 10). Source: disruption specification, candidates.
func (c evictionCosts) of(pod *corev1.Pod) float64 {
	const costScale, priorityScale, limit = 1 << 27, 1 << 25, 10
	own, _ := c.disruptionCost(pod) // 0 if invalid, which the disruption controller reports
	cost := 1.0 + float64(own)/costScale
	if pod.Spec.Priority != nil {
		cost += float64(*pod.Spec.Priority) / priorityScale
	}
	return min(max(cost, -limit), limit)
}
