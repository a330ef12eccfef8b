package main

import (
	"testing"

	"github.com/karpenter-anew/karpenter/bench/contest"
)

// TestMarkdown: a row with both sides, one of this project only, and one of upstream only, which has no row.
func TestMarkdown(t *testing.T) {
	both := row{
		Case: "mix", Pods: 4000,
		Ours:     &contest.Score{Seconds: 0.01234, AllocatedBytes: 9_400_000, Nodes: 78, DollarsPerHour: 1104.96, LowerBound: 992.68},
		Upstream: &contest.Score{Seconds: 24.68, AllocatedBytes: 1_488_000_000, Nodes: 106, DollarsPerHour: 1500},
	}
	both.compare()
	alone := row{Case: "large", Pods: 100, OursOnly: true, Ours: &contest.Score{Seconds: 0.5, AllocatedBytes: 12_000_000}}
	alone.compare()
	got := results{Rows: []row{both, alone, {Case: "gone", Upstream: &contest.Score{}}}}.markdown()
	want := `| Case | Pods | Time, s | Upstream, s | Faster | MB | Upstream, MB | Bytes | Nodes, this / upstream | $/h, this / upstream | Price | Bound | Gap |
|---|---|---|---|---|---|---|---|---|---|---|---|---|
| ` + "`mix`" + ` | 4 000 | 0.0123 | 24.68 | 2,000× | 9.4 | 1 488 | 1/158 | 78 / 106 | 1 104.96 / 1 500.00 | −26.3 % | 992.68 | 10.2 % |
| ` + "`large`" + ` | 100 | 0.50 | – |  | 12 | – |  | 0 / – | 0.00 / – |  | – | – |
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
