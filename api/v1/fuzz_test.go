package v1_test

import (
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// FuzzBudget checks that a budget is refused and closes the pool, or allows from 0 to all nodes in a window that can be told, in a moment.
func FuzzBudget(f *testing.F) {
	for _, seed := range []struct {
		nodes, schedule string
		duration        time.Duration
	}{
		{"10%", "@daily", time.Hour},
		{"0", "* * * * *", time.Minute},
		{"5", "0 9 * * mon-fri", 8 * time.Hour},
		{"101%", "0 0 30 2 *", time.Hour},
		{"-1", "*/0 * * * *", 0},
		{"2147483648", "TZ=Asia/Tokyo 0 0 * * *", -time.Hour},
		{"1e1", "@every 1ns", 1 << 62},
		{"%", "", time.Hour},
		{"+5", "0 0 29 2 1", time.Hour},
		{"٣", "@reboot", time.Hour},
	} {
		f.Add(seed.nodes, seed.schedule, int64(seed.duration), int64(1_780_000_000), uint16(100))
	}
	f.Fuzz(func(t *testing.T, nodes, schedule string, duration, unix int64, count uint16) {
		b := v1.Budget{Nodes: nodes, Schedule: &schedule, Duration: &metav1.Duration{Duration: time.Duration(duration)}}
		now, began := time.Unix(unix%4_000_000_000, 0).UTC(), time.Now()
		allowed, err := b.Allowed(now, int(count))
		if err != nil && allowed != 0 || allowed < 0 {
			t.Errorf("%d are allowed, error %v", allowed, err)
		}
		if changes, err := b.Changes(now); err == nil && !changes.IsZero() && changes.Before(now.Add(-time.Second)) && duration >= 0 {
			t.Errorf("%q for %s changes at %s, before %s", schedule, time.Duration(duration), changes, now)
		}
		pool := v1.NodePool{}
		pool.Spec.Disruption.Budgets = []v1.Budget{b}
		if all, err := pool.AllowedDisruptions(now, int(count), v1.DisruptionReasonDrifted); err != nil && all != 0 {
			t.Errorf("a pool allows %d, error %v", all, err)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%q takes %s", schedule, took)
		}
	})
}

// FuzzDuration checks that a duration or Never is read back from what it is written as, and that no number is lost where it is not longer than Go
// can count.
func FuzzDuration(f *testing.F) {
	for _, seed := range []string{`"Never"`, `"30m"`, `"1h30m"`, `"0s"`, `"2562048h"`, `"99999999999999999999h"`, `"-1s"`, `null`, `5`, `"1e3s"`, `" 1s"`, `"never"`, `"\u0031s"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var d v1.NillableDuration
		if json.Unmarshal(text, &d) != nil {
			return
		}
		written, err := json.Marshal(d)
		if err != nil {
			t.Fatalf("%s cannot be written: %v", text, err)
		}
		var again v1.NillableDuration
		if err := json.Unmarshal(written, &again); err != nil || (again.Duration == nil) != (d.Duration == nil) || d.Duration != nil && *again.Duration != *d.Duration {
			t.Errorf("%s is written as %s, which is read as %v: %v", text, written, again.Duration, err)
		}
		var plain string
		if json.Unmarshal(text, &plain) == nil {
			if want, err := time.ParseDuration(plain); err == nil && (d.Duration == nil || *d.Duration != want) {
				t.Errorf("%s is read as %v", text, d.Duration)
			}
		}
	})
}
