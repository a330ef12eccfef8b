package observe

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// InvalidDoNotDisruptAnnotation says that the annotation of a pod is neither true nor a positive duration.
func InvalidDoNotDisruptAnnotation(pod *corev1.Pod, why error) Event {
	message := fmt.Sprintf("Invalid %s annotation: %v, ignoring annotation", v1.DoNotDisruptAnnotationKey, why)
	return warning(pod, "InvalidDoNotDisruptAnnotation", message, string(pod.UID), why.Error())
}

// DoNotDisruptUntil says how long the annotation protects a pod.
func DoNotDisruptUntil(pod *corev1.Pod, end time.Time) Event {
	at := end.Format(time.RFC3339)
	message := fmt.Sprintf("The %s grace period will elapse at %s", v1.DoNotDisruptAnnotationKey, at)
	return normal(pod, "DoNotDisruptUntil", message, string(pod.UID), at)
}

// DoNotDisruptGracePeriodElapsed says that the annotation protects a pod no longer.
func DoNotDisruptGracePeriodElapsed(pod *corev1.Pod) Event {
	message := fmt.Sprintf("The %s grace period has elapsed, pod is now disruptable", v1.DoNotDisruptAnnotationKey)
	return normal(pod, "DoNotDisruptGracePeriodElapsed", message, string(pod.UID))
}
