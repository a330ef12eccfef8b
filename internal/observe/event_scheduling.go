package observe

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// Nominated says where a pod is expected to go: a NodeClaim, a Node or both; an empty name is left out.
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

// FailedScheduling says why there is neither a place for a pod nor a node that could be added for it. codes name the kinds of
// obstacle: repetitions are told apart by them as well as by the pod, so that a pod whose pool has become ready, or whose limit is now
// used up, does not go on for five minutes saying what was the matter before.
func FailedScheduling(pod *corev1.Pod, why error, codes ...string) Event {
	dedupe := append([]string{string(pod.UID)}, codes...)
	return WarningEvent(pod, "FailedScheduling", fmt.Sprintf("Failed to schedule pod, %v", why), dedupe...).within(5 * time.Minute)
}

// NoCompatibleInstanceTypes says that the requirements of a pool leave no instance type, because of minValues or on their own.
func NoCompatibleInstanceTypes(pool *v1.NodePool, minValues bool) Event {
	message := "NodePool requirements filtered out all compatible available instance types"
	if minValues {
		message += " due to minValues incompatibility"
	}
	return WarningEvent(pool, "NoCompatibleInstanceTypes", message, string(pool.UID)).within(time.Minute)
}
