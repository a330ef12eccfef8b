package repair

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func minutes(n int) *time.Duration {
	d := time.Duration(n) * time.Minute
	return &d
}

// rules are a set in which the types tell the policies.
func rules(t testing.TB) *Policies {
	t.Helper()
	return compile(
		t, fallback(),
		Policy{ConditionType: "Reboot", ConditionStatus: "True", ReasonRegex: ".*", Priority: 50, GracePeriod: minutes(1), Action: Reboot},
		Policy{ConditionType: "Low", ConditionStatus: "True", ReasonRegex: ".*", Priority: 10, GracePeriod: minutes(5), Action: Replace},
		Policy{ConditionType: "High", ConditionStatus: "True", ReasonRegex: ".*", Priority: 90, Action: Replace},
		Policy{ConditionType: "Also", ConditionStatus: "True", ReasonRegex: ".*", Priority: 10, GracePeriod: minutes(5), Action: Replace},
	)
}

// unhealthy has conditions of these types since the given minutes.
func unhealthy(set *Policies, since map[string]float64) Health {
	var h Health
	for _, kind := range []string{"Reboot", "Low", "High", "Also"} {
		if minute, ok := since[kind]; ok {
			h.Matches = set.Match(h.Matches, Condition{Type: kind, Status: "True", Since: at(minute)}, 0)
		}
	}
	return h
}

func TestWhatIsDecidedForSeveralMatches(t *testing.T) {
	t.Attr("covers", "N013")
	t.Attr("covers", "N014")
	set := rules(t)
	for _, tt := range []struct {
		name      string
		since     map[string]float64
		action    Action
		governing string
		bound     *time.Duration
		from      string
	}{
		{"a reboot alone", map[string]float64{"Reboot": 1}, Reboot, "Reboot", minutes(1), "Reboot"},
		{"a replacement is more disruptive", map[string]float64{"Reboot": 1, "Low": 5}, Replace, "Low", minutes(1), "Reboot"},
		{"the higher priority", map[string]float64{"Low": 1, "High": 5}, Replace, "High", minutes(5), "Low"},
		{"the one that is due longer", map[string]float64{"Low": 1, "Also": 5}, Replace, "Low", minutes(5), "Low"},
		{"the smaller type", map[string]float64{"Low": 3, "Also": 3}, Replace, "Also", minutes(5), "Also"},
		{"one that is not due yet does not count", map[string]float64{"Low": 3, "High": 11, "Reboot": 12}, Replace, "Low", minutes(5), "Low"},
		{"no bound", map[string]float64{"High": 3}, Replace, "High", nil, ""},
	} {
		h := unhealthy(set, tt.since)
		for range 2 {
			d, due := h.Decide(at(10))
			if !due || d.Action != tt.action || d.Governing.Condition.Type != tt.governing || d.GracePeriodFrom != tt.from {
				t.Errorf("%s: %s for %s, bounded by %q", tt.name, d.Action, d.Governing.Condition.Type, d.GracePeriodFrom)
			}
			if (d.GracePeriod == nil) != (tt.bound == nil) || d.GracePeriod != nil && *d.GracePeriod != *tt.bound {
				t.Errorf("%s: the bound is %v, want %v", tt.name, d.GracePeriod, tt.bound)
			}
			slices.Reverse(h.Matches)
		}
	}
	if _, due := (Health{}).Decide(at(10)); due {
		t.Error("a healthy node is due")
	}
}

func TestTheScoreGrowsByARankInHalfAnHour(t *testing.T) {
	t.Attr("covers", "N015")
	t.Attr("covers", "N016")
	set := rules(t) // the priorities 0, 10, 50 and 90 have the ranks 0 to 3
	for _, tt := range []struct {
		name  string
		since map[string]float64
		now   float64
		want  float64
	}{
		{"the rank of a node that is due now", map[string]float64{"Low": 60}, 60, 1},
		{"a rank for each half hour", map[string]float64{"Low": 0}, 45, 2.5},
		{"as much as a node that is two ranks more urgent", map[string]float64{"Low": 0}, 60, 3},
		{"the maximum, whichever action is taken", map[string]float64{"Low": 59, "Reboot": 60}, 60, 2},
		{"one that is not due yet does not count", map[string]float64{"Low": 60, "High": 61}, 60, 1},
	} {
		d, _ := unhealthy(set, tt.since).Decide(at(tt.now))
		if math.Abs(d.Score-tt.want) > 1.0/29 {
			t.Errorf("%s: the score is %v, want %v", tt.name, d.Score, tt.want)
		}
	}
	ordinary := Health{Matches: set.Match(nil, Condition{Type: "High", Status: "True"}, 0)}
	if d, _ := ordinary.Decide(0); d.Score != 3 {
		t.Errorf("the score at the end of the toleration is %v, want the rank 3", d.Score)
	}
	byDefault := Health{Matches: set.Match(nil, Condition{Type: "Ready", Status: "False"}, 0)}
	if d, _ := byDefault.Decide(at(30)); d.Score != 0 {
		t.Errorf("the score of the default is %v, want its rank 0", d.Score)
	}
}

func TestTheOrderOfConditionsDoesNotMatter(t *testing.T) {
	t.Attr("covers", "N013")
	rapid.Check(t, func(t *rapid.T) {
		set, err := Compile([]Policy{
			fallback(),
			{ConditionType: "a", ConditionStatus: "True", ReasonRegex: "x", Priority: 1, GracePeriod: minutes(1), Action: Replace},
			{ConditionType: "a", ConditionStatus: "True", ReasonRegex: ".", Priority: 1, GracePeriod: minutes(2), Action: Reboot},
			{ConditionType: "b", ConditionStatus: "True", ReasonRegex: "x", Priority: 1, GracePeriod: minutes(1), Action: Replace},
			{ConditionType: "c", ConditionStatus: "True", ReasonRegex: "y", Priority: 2, Toleration: time.Minute, Action: Reboot},
		})
		if err != nil {
			t.Fatal(err)
		}
		var h Health
		for _, kind := range []string{"a", "b", "c"} {
			if rapid.Bool().Draw(t, kind) {
				h.Matches = set.Match(h.Matches, Condition{
					Type: kind, Status: "True", Reason: rapid.SampledFrom([]string{"x", "y", "xy"}).Draw(t, kind+" reason"),
					Since: at(float64(rapid.IntRange(1, 3).Draw(t, kind+" since"))),
				}, 0)
			}
		}
		now := at(float64(rapid.IntRange(1, 5).Draw(t, "now")))
		want, due := h.Decide(now)
		other, otherDue := Health{Matches: rapid.Permutation(h.Matches).Draw(t, "order")}.Decide(now)
		if due != otherDue || want.Action != other.Action || want.Governing.Condition != other.Governing.Condition ||
			want.GracePeriodFrom != other.GracePeriodFrom || want.Score != other.Score {
			t.Errorf("the decision is %v, in another order %v", want, other)
		}
	})
}

func TestAFifthOfTheNodesMayBeUnhealthy(t *testing.T) {
	for _, tt := range []struct {
		all, unhealthy int
		want           bool
	}{{1, 1, false}, {5, 1, false}, {5, 2, true}, {6, 2, false}, {10, 2, false}, {10, 3, true}, {11, 3, false}, {0, 0, false}} {
		var n Nodes
		for i := range tt.all {
			n = n.Add(i < tt.unhealthy, 1)
		}
		if n.TooMany() != tt.want {
			t.Errorf("%d of %d nodes: too many is %t, want %t", tt.unhealthy, tt.all, n.TooMany(), tt.want)
		}
		for i := range tt.all {
			n = n.Add(i < tt.unhealthy, -1)
		}
		if n != (Nodes{}) {
			t.Errorf("nodes that are gone still count: %v", n)
		}
	}
}
