package podrules_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/podrules"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// FuzzDoNotDisrupt checks that an annotation protects a pod for ever, until a moment after now, or not at all, and that what is invalid says why.
func FuzzDoNotDisrupt(f *testing.F) {
	for _, seed := range []string{"true", "True", "false", "30m", "-1s", "0", "2562047h", "9999999h", "1e3s", " true", ""} {
		f.Add(seed, int64(1_780_000_000), int64(1_780_001_000))
	}
	f.Fuzz(func(t *testing.T, value string, started, at int64) {
		now, start := time.Unix(at%4_000_000_000, 0), metav1.NewTime(time.Unix(started%4_000_000_000, 0))
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1.DoNotDisruptAnnotationKey: value}}, Status: corev1.PodStatus{StartTime: &start}}
		p := podrules.DoNotDisrupt(pod, now)
		if (p.State == podrules.ProtectedAlways) != (value == "true") || (p.State == podrules.ProtectionInvalid) != (p.Detail != "") {
			t.Errorf("%q: %+v", value, p)
		}
		if p.State == podrules.ProtectedForNow && !p.Until.After(now) || p.State == podrules.ProtectionElapsed && p.Until.After(now) {
			t.Errorf("%q: at %s %+v", value, now, p)
		}
		pod.Status.StartTime = nil
		if without := podrules.DoNotDisrupt(pod, now); without.Active() != p.Active() && p.State != podrules.ProtectionElapsed {
			t.Errorf("%q: %+v, and %+v before the start", value, p, without)
		}
	})
}
