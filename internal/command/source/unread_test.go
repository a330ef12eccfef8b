package source

import (
	"slices"
	"testing"
)

// TestWhatIsUnreadIsTold: a refusal of policies is not told as one of settings.
func TestWhatIsUnreadIsTold(t *testing.T) {
	if got, want := Unread([]string{"OperationsPolicy", "DisruptionPlan", "ConfigMap"}), []string{NoPolicies, noPlans, NoPermission}; !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
	if got := Unread(nil); got != nil {
		t.Errorf("told %q, want nothing", got)
	}
}
