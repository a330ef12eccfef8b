package observe

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/api/podrules"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// Protection returns the event about the do-not-disrupt annotation of a pod at now. An annotation that is missing, that protects
// forever or whose time has not begun has none.
func Protection(pod *corev1.Pod, now time.Time) []Event {
	switch p := podrules.DoNotDisrupt(pod, now); p.State {
	case podrules.ProtectionInvalid:
		return []Event{InvalidDoNotDisruptAnnotation(pod, errors.New(p.Detail))}
	case podrules.ProtectedForNow:
		if !p.Until.IsZero() {
			return []Event{DoNotDisruptUntil(pod, p.Until)}
		}
	case podrules.ProtectionElapsed:
		return []Event{DoNotDisruptGracePeriodElapsed(pod)}
	case podrules.Unprotected, podrules.ProtectedAlways:
	}
	return nil
}

// InvalidDoNotDisruptAnnotation reports that the annotation of a pod is neither true nor a positive duration.
func InvalidDoNotDisruptAnnotation(pod *corev1.Pod, why error) Event {
	message := fmt.Sprintf("Invalid %s annotation: %v, ignoring annotation", v1.DoNotDisruptAnnotationKey, why)
	return WarningEvent(pod, "InvalidDoNotDisruptAnnotation", message, string(pod.UID), why.Error())
}

// DoNotDisruptUntil reports how long the annotation protects a pod.
func DoNotDisruptUntil(pod *corev1.Pod, end time.Time) Event {
	at := end.Format(time.RFC3339)
	message := fmt.Sprintf("The %s grace period will elapse at %s", v1.DoNotDisruptAnnotationKey, at)
	return NormalEvent(pod, "DoNotDisruptUntil", message, string(pod.UID), at)
}

// DoNotDisruptGracePeriodElapsed reports that the annotation no longer protects a pod.
func DoNotDisruptGracePeriodElapsed(pod *corev1.Pod) Event {
	message := fmt.Sprintf("The %s grace period has elapsed, pod is now disruptable", v1.DoNotDisruptAnnotationKey)
	return NormalEvent(pod, "DoNotDisruptGracePeriodElapsed", message, string(pod.UID))
}
