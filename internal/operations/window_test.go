package operations_test

import (
	"testing"
	"testing/synctest"
	"time"

	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	"github.com/karpenter-anew/karpenter/internal/core/policy"
	"github.com/karpenter-anew/karpenter/internal/operations"
)

// TestWindowsFollowTheClockOfTheirTimeZone lets a clock run through windows, minute by minute, and compares when they open and close with
// what a calendar shows.
func TestWindowsFollowTheClockOfTheirTimeZone(t *testing.T) {
	for _, test := range []struct {
		name       string
		window     string
		from, to   string
		open, shut []string
	}{
		{
			name: "clocks are put forward", window: `{schedule: "0 22 * * *", duration: 8h, timeZone: Europe/Berlin}`, from: "2027-03-27T12:00:00Z", to: "2027-03-29T12:00:00Z",
			open: []string{"2027-03-27T21:00:00Z", "2027-03-28T20:00:00Z"}, shut: []string{"2027-03-28T05:00:00Z", "2027-03-29T04:00:00Z"},
		},
		{
			name: "clocks are put back", window: `{schedule: "0 22 * * *", duration: 8h, timeZone: Europe/Berlin}`, from: "2027-10-30T12:00:00Z", to: "2027-11-01T12:00:00Z",
			open: []string{"2027-10-30T20:00:00Z", "2027-10-31T21:00:00Z"}, shut: []string{"2027-10-31T04:00:00Z", "2027-11-01T05:00:00Z"},
		},
		{
			name: "the opening is skipped", window: `{schedule: "30 2 * * *", duration: 1h, timeZone: Europe/Berlin}`, from: "2027-03-27T12:00:00Z", to: "2027-03-29T12:00:00Z",
			open: []string{"2027-03-28T01:30:00Z", "2027-03-29T00:30:00Z"}, shut: []string{"2027-03-28T02:30:00Z", "2027-03-29T01:30:00Z"},
		},
		{
			name: "the opening occurs twice", window: `{schedule: "30 2 * * *", duration: 30m, timeZone: Europe/Berlin}`, from: "2027-10-30T12:00:00Z", to: "2027-11-01T12:00:00Z",
			open: []string{"2027-10-31T00:30:00Z", "2027-11-01T01:30:00Z"}, shut: []string{"2027-10-31T01:00:00Z", "2027-11-01T02:00:00Z"},
		},
		{
			name: "the opening occurs twice west of Greenwich", window: `{schedule: "30 1 * * *", duration: 30m, timeZone: America/New_York}`, from: "2027-11-07T00:00:00Z", to: "2027-11-08T12:00:00Z",
			open: []string{"2027-11-07T05:30:00Z", "2027-11-08T06:30:00Z"}, shut: []string{"2027-11-07T06:00:00Z", "2027-11-08T07:00:00Z"},
		},
		{
			name: "every hour, also in both of two equal ones", window: `{schedule: "15 * * * *", duration: 10m, timeZone: Europe/Berlin}`, from: "2027-10-30T23:00:00Z", to: "2027-10-31T03:00:00Z",
			open: []string{"2027-10-30T23:15:00Z", "2027-10-31T00:15:00Z", "2027-10-31T01:15:00Z", "2027-10-31T02:15:00Z"},
			shut: []string{"2027-10-30T23:25:00Z", "2027-10-31T00:25:00Z", "2027-10-31T01:25:00Z", "2027-10-31T02:25:00Z"},
		},
		{
			name: "half an hour is skipped", window: `{schedule: "15 2 * * *", duration: 1h, timeZone: Australia/Lord_Howe}`, from: "2027-10-02T00:00:00Z", to: "2027-10-04T00:00:00Z",
			open: []string{"2027-10-02T15:45:00Z", "2027-10-03T15:15:00Z"}, shut: []string{"2027-10-02T16:45:00Z", "2027-10-03T16:15:00Z"},
		},
		{
			name: "no summer time", window: `{schedule: "0 0 * * SUN", duration: 2h, timeZone: Asia/Kolkata}`, from: "2027-03-26T00:00:00Z", to: "2027-03-30T00:00:00Z",
			open: []string{"2027-03-27T18:30:00Z"}, shut: []string{"2027-03-27T20:30:00Z"},
		},
		{
			name: "windows that overlap are one", window: `{schedule: "0 */2 * * *", duration: 3h, timeZone: UTC}`, from: "2027-01-01T06:30:00Z", to: "2027-01-02T00:00:00Z",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				set := operations.Policies([]opsv1alpha1.OperationsPolicy{parse(t, "a", "{windows: ["+test.window+"]}")})
				time.Sleep(time.Until(at(t, test.from))) // sleeping moves the clock of the bubble; no real time passes
				was, announced := opens(set)
				var open, shut []string
				for time.Now().Before(at(t, test.to)) {
					time.Sleep(time.Minute) // of the bubble
					now := time.Now().UTC()
					is, next := opens(set)
					switch {
					case is && !was:
						open = append(open, now.Format(time.RFC3339))
						if !announced.Equal(now) {
							t.Errorf("opens at %s, but %s was announced", now, announced)
						}
					case was && !is:
						shut = append(shut, now.Format(time.RFC3339))
					}
					was, announced = is, next
				}
				equal(t, "opens", open, test.open)
				equal(t, "closes", shut, test.shut)
			})
		})
	}
}

// opens reports whether disruption is allowed now, and else from when on.
func opens(set policy.Set) (bool, time.Time) {
	c, closed := set.Closed(nil, "Drifted", time.Now())
	return !closed, c.Until
}

func at(t *testing.T, text string) time.Time {
	t.Helper()
	out, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func equal(t *testing.T, what string, got, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s at %v, want %v", what, got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("%s at %v, want %v", what, got, want)
		}
	}
}
