package podrules

import (
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// maxSeconds is the longest time in seconds that a time.Duration holds: 292 years.
const maxSeconds = int64(math.MaxInt64 / time.Second)

// Grace returns a grace period in seconds as a duration. Longer ones than a duration can hold are cut, and negative ones are 1 s,
// as for the API server.
func Grace(seconds int64) time.Duration {
	if seconds < 0 {
		return time.Second
	}
	return time.Duration(min(seconds, maxSeconds)) * time.Second
}

// TerminatedBy returns when the grace period of a terminating pod ends. For grace periods that a duration cannot hold, the sum of
// the API server overflows, and its timestamp lies in the past: such pods end in a time that is later than all others.
func TerminatedBy(pod *corev1.Pod) time.Time {
	if granted := pod.DeletionGracePeriodSeconds; granted != nil && *granted > maxSeconds {
		return time.Unix(endOfTime, 0)
	}
	return pod.DeletionTimestamp.Time
}

// endOfTime is a moment after all that objects name, in seconds since 1970.
const endOfTime = 1 << 40
