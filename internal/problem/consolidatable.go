package problem

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Consolidatable decides whether consolidateAfter has passed since the last pod event on the Node of the NodeClaim. wait is the time
// until it passes without another event; zero means that only an event can change the result.
func Consolidatable(after *time.Duration, initialized *metav1.Condition, lastPodEvent metav1.Time, now time.Time) (yes bool, wait time.Duration) {
	if after == nil || initialized == nil || initialized.Status != metav1.ConditionTrue {
		return false, 0
	}
	since := initialized.LastTransitionTime.Time
	if !lastPodEvent.IsZero() {
		since = lastPodEvent.Time
	}
	if left := *after - now.Sub(since); *after > 0 && left > 0 {
		return false, left
	}
	return true, 0
}
