package policy_test

import (
	"testing"
	"time"

	"github.com/karpenter-anew/karpenter/internal/core/policy"
)

func everything(map[string]string) bool { return true }

func TestClosures(t *testing.T) {
	now := at(t, "2027-06-01T12:00:00Z")
	nightly := window(t, "UTC", "0 2 * * *", 4*time.Hour)
	noon := window(t, "UTC", "0 11 * * *", 2*time.Hour)
	drift := noon
	drift.Reasons = []string{"Drifted"}
	repairs := nightly
	repairs.Reasons = []string{policy.Unhealthy}
	freeze := &policy.Freeze{Until: at(t, "2027-06-07T00:00:00Z"), Why: "sale"}
	for _, test := range []struct {
		name   string
		list   []policy.Policy
		reason string
		want   policy.Closure
	}{
		{name: "no policy", reason: "Empty"},
		{name: "a closed window", reason: "Empty", list: []policy.Policy{{Name: "a", Windows: []policy.Window{nightly}}}, want: policy.Closure{Kind: policy.OutsideWindow, Policy: "a", Until: at(t, "2027-06-02T02:00:00Z")}},
		{name: "one of two windows is open", reason: "Empty", list: []policy.Policy{{Name: "a", Windows: []policy.Window{nightly, noon}}}},
		{name: "the open window is for another reason", reason: "Empty", list: []policy.Policy{{Name: "a", Windows: []policy.Window{nightly, drift}}}, want: policy.Closure{Kind: policy.OutsideWindow, Policy: "a", Until: at(t, "2027-06-02T02:00:00Z")}},
		{name: "no window is for the reason", reason: "Empty", list: []policy.Policy{{Name: "a", Windows: []policy.Window{drift}}}},
		{name: "repairs do not wait for windows", reason: policy.Unhealthy, list: []policy.Policy{{Name: "a", Windows: []policy.Window{nightly}, Freeze: freeze}}},
		{name: "repairs wait for windows that name them", reason: policy.Unhealthy, list: []policy.Policy{{Name: "a", Windows: []policy.Window{repairs}}}, want: policy.Closure{Kind: policy.OutsideWindow, Policy: "a", Until: at(t, "2027-06-02T02:00:00Z")}},
		{name: "a freeze in an open window", reason: "Drifted", list: []policy.Policy{{Name: "a", Windows: []policy.Window{noon}, Freeze: freeze}}, want: policy.Closure{Kind: policy.Frozen, Policy: "a", Until: freeze.Until, Why: "sale"}},
		{name: "a freeze that has ended", reason: "Drifted", list: []policy.Policy{{Name: "a", Freeze: &policy.Freeze{Until: now}}}},
		{
			name: "one policy forbids what another one allows", reason: "Drifted", list: []policy.Policy{{Name: "b", Windows: []policy.Window{noon}}, {Name: "a", Windows: []policy.Window{nightly}}},
			want: policy.Closure{Kind: policy.OutsideWindow, Policy: "a", Until: at(t, "2027-06-02T02:00:00Z")},
		},
		{
			name: "the longest closure", reason: "Drifted", list: []policy.Policy{{Name: "a", Windows: []policy.Window{nightly}}, {Name: "b", Freeze: freeze}},
			want: policy.Closure{Kind: policy.Frozen, Policy: "b", Until: freeze.Until, Why: "sale"},
		},
		{name: "other pools", reason: "Drifted", list: []policy.Policy{{Name: "a", Freeze: freeze, Selects: func(map[string]string) bool { return false }}}},
		{name: "an invalid policy", reason: "Drifted", list: []policy.Policy{{Name: "a", Invalid: "no such zone"}}, want: policy.Closure{Kind: policy.Invalid, Policy: "a", Why: "no such zone"}},
		{name: "an invalid policy does not stop repairs", reason: policy.Unhealthy, list: []policy.Policy{{Name: "a", Invalid: "no such zone"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for i := range test.list {
				if test.list[i].Selects == nil {
					test.list[i].Selects = everything
				}
			}
			got, closed := policy.NewSet(test.list).Closed(nil, test.reason, now)
			if got != test.want || closed != (test.want != policy.Closure{}) {
				t.Errorf("closed=%v by %+v, want %+v", closed, got, test.want)
			}
		})
	}
}

func TestSoftExpiry(t *testing.T) {
	created := at(t, "2027-06-01T00:00:00Z")
	s := policy.SoftExpiry{Before: 24 * time.Hour, Jitter: 12 * time.Hour}
	seen := map[time.Time]bool{}
	for _, name := range []string{"default-abcde", "default-abcdf", "default-xyz12"} {
		due, ok := s.At(created, 72*time.Hour, name)
		again, _ := s.At(created, 72*time.Hour, name)
		if first, last := created.Add(48*time.Hour), created.Add(60*time.Hour); !ok || due.Before(first) || !due.Before(last) || !due.Equal(again) {
			t.Errorf("%s expires softly at %s, then at %s; want one time from %s to %s", name, due, again, first, last)
		}
		seen[due] = true
	}
	if len(seen) != 3 {
		t.Errorf("nodes of the same age expire at %v, want three times", seen)
	}
	if due, ok := s.At(created, 10*time.Hour, "a"); !ok || due.Before(created.Add(5*time.Hour)) || !due.Before(created.Add(10*time.Hour)) {
		t.Errorf("a node of 10 h expires softly at %s, want the second half of its life", due)
	}
	if due, ok := s.At(created, 0, "a"); ok {
		t.Errorf("a node without an end expires softly at %s", due)
	}
	none := policy.SoftExpiry{Before: time.Hour}
	if due, _ := none.At(created, 72*time.Hour, "a"); !due.Equal(created.Add(71 * time.Hour)) {
		t.Errorf("without jitter a node expires softly at %s", due)
	}
}

func TestTheLatestSoftExpiryCounts(t *testing.T) {
	set := policy.NewSet([]policy.Policy{
		{Name: "a", Selects: everything, SoftExpiry: &policy.SoftExpiry{Before: 24 * time.Hour}},
		{Name: "b", Selects: everything, SoftExpiry: &policy.SoftExpiry{Before: time.Hour}},
		{Name: "c", Selects: everything, Invalid: "x", SoftExpiry: &policy.SoftExpiry{Before: time.Minute}},
		{Name: "d", Selects: func(map[string]string) bool { return false }, SoftExpiry: &policy.SoftExpiry{Before: time.Minute}},
	})
	if s := set.SoftExpiryOf(nil); s == nil || s.Before != time.Hour {
		t.Errorf("soft expiry %+v, want an hour", s)
	}
}
