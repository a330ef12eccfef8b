package model

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
)

// TestComparisonsFollowTheAPI compares with the function that kube-scheduler calls.
func TestComparisonsFollowTheAPI(t *testing.T) {
	t.Attr("covers", "N490")
	values := []string{"", "-9223372036854775808", "-1", "-0", "0", "00", "+1", "1", "01", "1.0", "2", "x", "9223372036854775807", "9223372036854775808"}
	for _, operator := range []corev1.TolerationOperator{corev1.TolerationOpLt, corev1.TolerationOpGt} {
		for _, bound := range values {
			for _, value := range values {
				theirs := corev1.Toleration{Key: "k", Operator: operator, Value: bound}
				want := theirs.ToleratesTaint(klog.Background(), &corev1.Taint{Key: "k", Value: value, Effect: corev1.TaintEffectNoSchedule}, true)
				ours := Toleration{Key: "k", Value: bound, Compare: Comparison(operator)}
				if got := ours.Tolerates(Taint{Key: "k", Value: value, Effect: NoSchedule}); got != want {
					t.Errorf("%s %q tolerates %q: %v, want %v", operator, bound, value, got, want)
				}
			}
		}
	}
}
