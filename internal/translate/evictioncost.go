package translate

import (
	"fmt"
	"math"
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// DeletionCost returns the deletion cost of a pod from its annotation, as a base-10 32-bit integer; 0 if it is missing, and an error if it is
// anything else.
//
// The lowest value of all counts as 0: upstream leaves it on the pods of nodes that were being removed when its deletion cost management was
// turned off, and a node with such pods would count as empty.
//
// Source: specification of v1.15, pod deletion cost management and migration.
func DeletionCost(pod *corev1.Pod) (int32, error) {
	text, ok := pod.Annotations[corev1.PodDeletionCost]
	if !ok {
		return 0, nil
	}
	cost, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("failed parsing pod deletion cost %q of pod %s/%s: %w", text, pod.Namespace, pod.Name, err)
	}
	if cost == math.MinInt32 {
		return 0, nil
	}
	return int32(cost), nil
}

// evictionCost is clamp(1 + deletionCost/2^27 + priority/2^25, −10, 10). Source: disruption specification, candidates.
func evictionCost(pod *corev1.Pod) float64 {
	const deletionCostScale, priorityScale, limit = 1 << 27, 1 << 25, 10
	deletion, _ := DeletionCost(pod) // 0 if invalid, which the disruption controller reports
	cost := 1.0 + float64(deletion)/deletionCostScale
	if pod.Spec.Priority != nil {
		cost += float64(*pod.Spec.Priority) / priorityScale
	}
	return min(max(cost, -limit), limit)
}
