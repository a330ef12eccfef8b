package termination

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/api/podrules"
)

// minGrace is the shortest grace period of a forced deletion. Zero would remove the object without waiting for the kubelet.
const minGrace = time.Second

// mustDelete reports whether a pod has to be deleted now for the Node to keep its deadline: either its grace period ends after the
// deadline, or it is terminating with a longer grace period than the deadline allows. A pod that is terminating with minGrace is not
// deleted again.
func mustDelete(pod *corev1.Pod, deadline *time.Time, now time.Time) bool {
	if deadline == nil {
		return false
	}
	if !podrules.Terminating(pod) {
		own := pod.Spec.TerminationGracePeriodSeconds
		return own != nil && now.After(deadline.Add(-podrules.Grace(*own)))
	}
	if !podrules.TerminatedBy(pod).After(*deadline) {
		return false
	}
	granted := pod.DeletionGracePeriodSeconds
	return granted == nil || podrules.Grace(*granted) > minGrace
}

// graceUntil is the grace period to grant a pod now, in whole seconds, so that it is gone by the deadline.
func graceUntil(deadline, now time.Time) time.Duration {
	return max(deadline.Sub(now).Truncate(time.Second), minGrace)
}
