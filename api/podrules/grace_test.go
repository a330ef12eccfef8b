package podrules

import (
	"math"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestGrace(t *testing.T) {
	for seconds, want := range map[int64]time.Duration{
		0: 0, 30: 30 * time.Second, -5: time.Second, math.MinInt64: time.Second,
		9223372036: 9223372036 * time.Second, 9223372037: 9223372036 * time.Second, math.MaxInt64: 9223372036 * time.Second,
	} {
		if got := Grace(seconds); got != want {
			t.Errorf("%d seconds are %s, want %s", seconds, got, want)
		}
	}
}

// TestPodsWithAnEndlessGracePeriodAreNotStuck uses the timestamp that the API server computes.
func TestPodsWithAnEndlessGracePeriodAreNotStuck(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for _, seconds := range []int64{9223372037, math.MaxInt64 / 2, math.MaxInt64} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			DeletionTimestamp:          &metav1.Time{Time: now.Add(time.Second * time.Duration(seconds))},
			DeletionGracePeriodSeconds: &seconds,
		}}
		if StuckTerminating(pod, now.Add(time.Hour)) {
			t.Errorf("a pod with a grace period of %d seconds is stuck after an hour", seconds)
		}
	}
}
