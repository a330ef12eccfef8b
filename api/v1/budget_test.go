package v1_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// budget is a budget that is always in force.
func budget(nodes string, reasons ...v1.DisruptionReason) v1.Budget {
	return v1.Budget{Nodes: nodes, Reasons: reasons}
}

// window is a budget that is in force from each hit of a schedule.
func window(nodes, schedule string, d time.Duration) v1.Budget {
	return v1.Budget{Nodes: nodes, Schedule: &schedule, Duration: &metav1.Duration{Duration: d}}
}

// closed is a budget for a reason that is in force in the night only.
func closed(reason v1.DisruptionReason) v1.Budget {
	b := window("0", "0 3 * * *", time.Hour)
	b.Reasons = []v1.DisruptionReason{reason}
	return b
}

func TestAllowedDisruptions(t *testing.T) {
	t.Attr("covers", "C315 C317 C318 C320 C321 C322 C323 C324")
	const (
		underutilized = v1.DisruptionReasonUnderutilized
		empty         = v1.DisruptionReasonEmpty
		drifted       = v1.DisruptionReasonDrifted
	)
	noon := time.Date(2026, time.March, 2, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		name    string
		budgets []v1.Budget
		now     time.Time
		nodes   int
		reason  v1.DisruptionReason
		want    int
	}{
		{"no budget", nil, noon, 10, empty, v1.NoDisruptionLimit},
		{"a number", []v1.Budget{budget("3")}, noon, 10, empty, 3},
		{"without reasons, when nodes have drifted", []v1.Budget{budget("3")}, noon, 10, drifted, 3},
		{"without reasons, when nodes are underutilized", []v1.Budget{budget("3")}, noon, 10, underutilized, 3},
		{"without schedule and duration, at noon", []v1.Budget{budget("2")}, noon, 10, empty, 2},
		{"without schedule and duration, in the night", []v1.Budget{budget("2")}, noon.Add(15*time.Hour + time.Second), 10, empty, 2},
		{"a number above the number of nodes", []v1.Budget{budget("30")}, noon, 10, empty, 30},
		{"a percentage", []v1.Budget{budget("20%")}, noon, 10, empty, 2},
		{"a percentage is rounded up", []v1.Budget{budget("10%")}, noon, 3, empty, 1},
		{"a percentage just above a whole number", []v1.Budget{budget("50%")}, noon, 101, empty, 51},
		{"a percentage of nothing", []v1.Budget{budget("10%")}, noon, 0, empty, 0},
		{"all", []v1.Budget{budget("100%")}, noon, 7, empty, 7},
		{"none", []v1.Budget{budget("0")}, noon, 7, empty, 0},
		{"no percent, in two digits", []v1.Budget{budget("00%")}, noon, 7, empty, 0},
		{"the smallest counts", []v1.Budget{budget("5"), budget("2"), budget("90%")}, noon, 10, empty, 2},
		{"only budgets for the reason count", []v1.Budget{budget("5"), budget("2", drifted), budget("3", underutilized, empty)}, noon, 10, empty, 3},
		{"no budget for the reason", []v1.Budget{budget("2", drifted)}, noon, 10, empty, v1.NoDisruptionLimit},
		{"an empty list of reasons matches none", []v1.Budget{{Nodes: "0", Reasons: []v1.DisruptionReason{}}}, noon, 10, empty, v1.NoDisruptionLimit},

		{"at the hit", []v1.Budget{window("1", "0 12 * * *", time.Hour)}, noon, 10, empty, 1},
		{"inside the window", []v1.Budget{window("1", "0 12 * * *", time.Hour)}, noon.Add(30 * time.Minute), 10, empty, 1},
		{"just before the end", []v1.Budget{window("1", "0 12 * * *", time.Hour)}, noon.Add(time.Hour - time.Second), 10, empty, 1},
		{"at the end", []v1.Budget{window("1", "0 12 * * *", time.Hour)}, noon.Add(time.Hour), 10, empty, v1.NoDisruptionLimit},
		{"just before the hit", []v1.Budget{window("1", "0 12 * * *", time.Hour)}, noon.Add(-time.Second), 10, empty, v1.NoDisruptionLimit},
		{"schedules are in UTC", []v1.Budget{window("1", "0 12 * * *", time.Hour)}, noon.In(time.FixedZone("", 5*3600)), 10, empty, 1},
		{"a descriptor", []v1.Budget{window("1", "@daily", 13*time.Hour)}, noon, 10, empty, 1},
		{"a descriptor outside its window", []v1.Budget{window("1", "@daily", 11*time.Hour)}, noon, 10, empty, v1.NoDisruptionLimit},
		{"names of days", []v1.Budget{window("1", "0 9 * * mon-fri", 8*time.Hour)}, noon, 10, empty, 1},
		{"windows that overlap never close", []v1.Budget{window("1", "@hourly", 2*time.Hour)}, noon.Add(time.Minute), 10, empty, 1},
		{"a day that never comes", []v1.Budget{window("1", "0 0 30 2 *", time.Hour)}, noon, 10, empty, v1.NoDisruptionLimit},
		{"one for the reason that is not active", []v1.Budget{closed(empty), budget("4")}, noon, 10, empty, 4},
		{"an open window next to a closed one", []v1.Budget{window("1", "0 3 * * *", time.Hour), window("4", "0 12 * * *", time.Hour)}, noon, 10, empty, 4},
	} {
		t.Run(test.name, func(t *testing.T) {
			pool := &v1.NodePool{}
			pool.Spec.Disruption.Budgets = test.budgets
			got, err := pool.AllowedDisruptions(test.now, test.nodes, test.reason)
			if err != nil {
				t.Fatal(err)
			}
			if got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

// TestBrokenBudget checks that one budget that cannot be evaluated closes the pool, for every reason.
func TestBrokenBudget(t *testing.T) {
	t.Attr("covers", "C319")
	daily := "@daily"
	for name, broken := range map[string]v1.Budget{
		"@dailyfoo":     window("5", "@dailyfoo", time.Hour),
		"a b c d e":     window("5", "a b c d e", time.Hour),
		"* * * * * *":   window("5", "* * * * * *", time.Hour),
		"TZ=Asia/Tokyo": window("5", "TZ=Asia/Tokyo 0 9 * * *", time.Hour),
		`""`:            window("5", "", time.Hour),
		`"ten"`:         budget("ten"),
		`"-1"`:          budget("-1"),
		`"101%"`:        budget("101%"),
		`"99999999999"`: budget("99999999999"),
		"together":      {Nodes: "5", Schedule: &daily},
	} {
		t.Run(name, func(t *testing.T) {
			broken.Reasons = []v1.DisruptionReason{v1.DisruptionReasonDrifted}
			pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "general"}}
			pool.Spec.Disruption.Budgets = []v1.Budget{budget("5"), broken}
			got, err := pool.AllowedDisruptions(time.Unix(0, 0), 10, v1.DisruptionReasonEmpty)
			if got != 0 {
				t.Errorf("allows %d", got)
			}
			for _, want := range []string{name, `budgets[1] of nodepool "general"`} {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v does not mention %s", err, want)
				}
			}
		})
	}
}

// TestPercentageBounds checks rounding against its definition: the smallest number that is no less than the share.
func TestPercentageBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		percent := rapid.IntRange(0, 100).Draw(t, "percent")
		nodes := rapid.IntRange(0, 100_000).Draw(t, "nodes")
		b := budget(fmt.Sprintf("%d%%", percent))
		got, err := b.Allowed(time.Unix(0, 0), nodes)
		if err != nil {
			t.Fatal(err)
		}
		if got*100 < nodes*percent || (got-1)*100 >= nodes*percent && got > 0 {
			t.Errorf("%d%% of %d is %d", percent, nodes, got)
		}
	})
}

func TestBudgetChanges(t *testing.T) {
	noon := time.Date(2026, time.March, 2, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		name   string
		budget v1.Budget
		want   time.Time
	}{
		{"always in force", budget("1"), time.Time{}},
		{"in force", window("1", "0 8 * * *", 10*time.Hour), noon.Add(6 * time.Hour)},
		{"just begun", window("1", "0 12 * * *", time.Hour), noon.Add(time.Hour)},
		{"just ended", window("1", "0 11 * * *", time.Hour), noon.Add(23 * time.Hour)},
		{"not yet in force", window("1", "0 13 * * *", time.Hour), noon.Add(time.Hour)},
		{"two windows that touch", window("1", "0 12,14 * * *", 2*time.Hour), noon.Add(4 * time.Hour)},
		{"two windows that overlap", window("1", "0 8,12 * * *", 5*time.Hour), noon.Add(5 * time.Hour)},
		{"windows that overlap for ever", window("1", "@hourly", 2*time.Hour), time.Time{}},
		{"a day that never comes", window("1", "0 0 30 2 *", time.Hour), time.Time{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := test.budget.Changes(noon)
			if err != nil || !got.Equal(test.want) {
				t.Errorf("got %v, %v, want %v", got, err, test.want)
			}
		})
	}
	broken := window("1", "often", time.Hour)
	if _, err := broken.Changes(noon); err == nil {
		t.Error("a schedule that cannot be read changes nothing")
	}
}
