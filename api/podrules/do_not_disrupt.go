package podrules

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// ProtectionState says what the do-not-disrupt annotation of a pod means at one moment.
type ProtectionState string

const (
	// Unprotected means that the pod carries no such annotation.
	Unprotected ProtectionState = "Unprotected"
	// ProtectedAlways means that the annotation is "true": the pod is protected for as long as it is active.
	ProtectedAlways ProtectionState = "ProtectedAlways"
	// ProtectedForNow means that the annotation is a duration that has not elapsed, or whose start is not known yet.
	ProtectedForNow ProtectionState = "ProtectedForNow"
	// ProtectionElapsed means that the annotation is a duration that has elapsed.
	ProtectionElapsed ProtectionState = "ProtectionElapsed"
	// ProtectionInvalid means that the annotation is neither "true" nor a positive duration and is ignored.
	ProtectionInvalid ProtectionState = "ProtectionInvalid"
)

// Protection is the reading of one do-not-disrupt annotation.
type Protection struct {
	State ProtectionState
	// Until is when a duration ends; zero when there is none or when the pod has no start time yet.
	Until time.Time
	// Detail says what is wrong with an invalid value.
	Detail string
}

// Active reports whether the annotation protects the pod. It does not look at the state of the pod itself.
func (p Protection) Active() bool { return p.State == ProtectedAlways || p.State == ProtectedForNow }

// DoNotDisrupt reads the do-not-disrupt annotation of the pod at now.
func DoNotDisrupt(pod *corev1.Pod, now time.Time) Protection {
	value, ok := pod.Annotations[v1.DoNotDisruptAnnotationKey]
	switch {
	case !ok:
		return Protection{State: Unprotected}
	case value == "true":
		return Protection{State: ProtectedAlways}
	}
	duration, err := time.ParseDuration(value)
	if err != nil {
		return Protection{State: ProtectionInvalid, Detail: fmt.Sprintf("failed to parse %q as a duration: %s", value, err)}
	}
	if duration <= 0 {
		return Protection{State: ProtectionInvalid, Detail: fmt.Sprintf("duration %q must be positive", value)}
	}
	if pod.Status.StartTime == nil {
		return Protection{State: ProtectedForNow}
	}
	until := pod.Status.StartTime.Add(duration)
	if now.Sub(pod.Status.StartTime.Time) < duration {
		return Protection{State: ProtectedForNow, Until: until}
	}
	return Protection{State: ProtectionElapsed, Until: until}
}
