package main

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestSameSeedSameClocks: clocks are wrong in both directions if there are enough lives, and faults of other kinds stay as they are.
func TestSameSeedSameClocks(t *testing.T) {
	for _, kills := range []int{1, 3, 10, 50} {
		lives := func(seed uint64, clock bool) []step {
			return slices.Concat(newSchedule(settings{seed: seed, kills: kills, clock: clock})...)
		}
		first := lives(7, true)
		if !reflect.DeepEqual(first, lives(7, true)) {
			t.Error("two schedules of the same seed differ")
		}
		found := map[string]int{}
		for i, s := range first {
			kind := "right"
			switch limit := expireAfter(kills); {
			case s.ahead > limit:
				kind = "ahead"
			case s.ahead < -limit:
				kind = "behind"
			case s.ahead != 0 && s.ahead.Abs() < tolerated:
				kind = "tolerated"
			case s.ahead != 0:
				t.Errorf("life %d: the clock is %s, with NodeClaims that expire after %s", i, clockText(s.ahead), limit)
			}
			found[kind]++
			if kind != "right" && s.life < clockLife {
				t.Errorf("life %d has a wrong clock for %s", i, s.life)
			}
			right := lives(7, false)[i]
			right.life, right.ahead = s.life, s.ahead
			if right != s {
				t.Errorf("life %d is %s, and %s without clocks", i, s, right)
			}
		}
		for i, kind := range []string{"ahead", "behind", "tolerated", "right"} {
			if i < kills && found[kind] == 0 {
				t.Errorf("%d lives: no clock is %s: %v", kills, kind, found)
			}
		}
	}
}

func TestClockText(t *testing.T) {
	for ahead, want := range map[time.Duration]string{
		7 * time.Minute: "7m ahead", -64 * time.Minute: "1h4m behind", 45 * time.Second: "45s ahead", 2 * time.Hour: "2h0m ahead",
	} {
		if got := clockText(ahead); got != want {
			t.Errorf("%s: %q, want %q", ahead, got, want)
		}
	}
}

func TestPremature(t *testing.T) {
	created := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	born := ages{
		claim: func(name string) time.Time {
			if name == "known" {
				return created
			}
			return time.Time{}
		},
		instance: func(string) time.Time { return created },
	}
	const timedOut = `{"time":"TIME","message":"deleting nodeclaim that timed out","NodeClaim":{"name":"known"},"timeout":"15m0s"}`
	const collected = `{"time":"TIME","message":"garbage collecting instance without nodeclaim","provider-id":"aws:///zone/i-1"}`
	for name, c := range map[string]struct {
		line string
		age  time.Duration
		want string
	}{
		"a deadline that has not passed":    {timedOut, 14 * time.Minute, "after 14m0s of 15m0s"},
		"a deadline that has passed":        {timedOut, 15 * time.Minute, ""},
		"an unknown limit":                  {strings.Replace(timedOut, "15m0s", "?", 1), 15 * time.Minute, "after 15m0s"},
		"a NodeClaim that was hardly there": {strings.Replace(timedOut, "known", "other", 1), time.Hour, "after 0s"},
		"expired too early": {
			`{"time":"TIME","message":"deleted expired nodeclaim","NodeClaim":{"name":"known"},"expire-after":"1h4m0s"}`, time.Hour, "after 1h0m0s of 1h4m0s",
		},
		"an instance just launched": {collected, 5 * time.Second, "after 5s of 30s"},
		"an old instance":           {collected, 31 * time.Second, ""},
		"another message":           {`{"time":"TIME","message":"deleted nodeclaim","NodeClaim":"known"}`, 0, ""},
		"not JSON":                  {"panic: no", 0, ""},
	} {
		text := strings.Replace(c.line, "TIME", created.Add(c.age).Format(time.RFC3339), 1)
		if got := strings.Join(premature([]byte("{}\n"+text+"\n"), born), "; "); !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
