package operations_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	"github.com/karpenter-anew/karpenter/internal/operations"
)

// FuzzWindow holds whatever a window has: it is refused, or whether it is open can be computed in a short time, and it opens later than now if not.
func FuzzWindow(f *testing.F) {
	for _, seed := range []struct{ schedule, zone string }{
		{"0 2 * * *", "Europe/Berlin"},
		{"* * * * *", "UTC"},
		{"0 0 30 2 *", ""},
		{"@daily", "America/New_York"},
		{"*/0 * * * *", ""},
		{"0 0 29 2 1", "Asia/Kathmandu"},
		{"CRON_TZ=UTC 0 0 * * *", ""},
		{"@every 1ns", ""},
		{"", "../../etc/passwd"},
		{"0 2 * * *", "Local"},
	} {
		f.Add(seed.schedule, seed.zone, int64(time.Hour), int64(1_780_000_000))
	}
	f.Fuzz(func(t *testing.T, schedule, zone string, duration, unix int64) {
		p := opsv1alpha1.OperationsPolicy{}
		p.Spec.Windows = []opsv1alpha1.MaintenanceWindow{{Schedule: schedule, TimeZone: zone, Duration: metav1.Duration{Duration: time.Duration(duration)}}}
		if operations.Validate(&p) != nil {
			return
		}
		now := time.Unix(unix%4_000_000_000, 0)
		for _, one := range operations.Policies([]opsv1alpha1.OperationsPolicy{p}) {
			for _, w := range one.Windows {
				if open, opens := w.State(now); !open && !opens.IsZero() && opens.Before(now) {
					t.Errorf("%q in %q is closed at %s and opens at %s", schedule, zone, now, opens)
				}
			}
		}
	})
}
