package policy_test

import (
	"testing"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/karpenter-anew/karpenter/internal/core/policy"
)

// window has its hits by wall clock.
func window(t *testing.T, in, spec string, open time.Duration) policy.Window {
	t.Helper()
	s, err := cron.ParseStandard("TZ=UTC " + spec)
	if err != nil {
		t.Fatal(err)
	}
	zone, err := time.LoadLocation(in)
	if err != nil {
		t.Fatal(err)
	}
	return policy.Window{Schedule: s, Location: zone, Duration: open}
}

func at(t *testing.T, text string) time.Time {
	t.Helper()
	out, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestWindowWithoutHitsNeverOpens(t *testing.T) {
	open, next := window(t, "UTC", "0 0 30 2 *", time.Hour).State(at(t, "2027-01-01T00:00:00Z"))
	if open || !next.IsZero() {
		t.Errorf("open=%v, opens at %s", open, next)
	}
}

// TestAWindowIsOpenFromItsHitOn: to the minute, and not any longer than its duration.
func TestAWindowIsOpenFromItsHitOn(t *testing.T) {
	w := window(t, "Europe/Berlin", "0 2 * * *", time.Hour)
	for _, test := range []struct {
		now  string
		open bool
		next string
	}{
		{"2027-06-01T23:59:59Z", false, "2027-06-02T00:00:00Z"},
		{"2027-06-02T00:00:00Z", true, ""},
		{"2027-06-02T00:59:59Z", true, ""},
		{"2027-06-02T01:00:00Z", false, "2027-06-03T00:00:00Z"},
	} {
		open, next := w.State(at(t, test.now))
		if open != test.open || test.next != "" && !next.Equal(at(t, test.next)) {
			t.Errorf("at %s: open=%v, opens at %s", test.now, open, next)
		}
	}
}
