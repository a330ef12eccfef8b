package main

import (
	"context"
	"testing"

	"github.com/karpenter-anew/karpenter/bench/contest"
	"github.com/karpenter-anew/karpenter/bench/workload"
)

// TestBothSidesAnswerEveryCase: both sides solve the cases of the repository at a small size, and every claim can be launched.
// If neither leaves a pod unplaced, the whole input reached both.
func TestBothSidesAnswerEveryCase(t *testing.T) {
	cases, err := workload.Find("cases")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		if c.NeedsTrace() {
			continue
		}
		r, err := measure(context.Background(), settings{effort: contest.Effort{Runs: 1}}, c, 40, here)
		if err != nil {
			t.Errorf("case %s: %v", c.Name, err)
			continue
		}
		if r.Ours.Unplaced != 0 {
			t.Errorf("case %s: we leave %d pods", c.Name, r.Ours.Unplaced)
		}
		for _, gap := range []*float64{r.OursGap, r.UpstreamGap} {
			if gap != nil && *gap < -1e-9 {
				t.Errorf("case %s: a side pays %.4f less than the lower bound of %v: %+v", c.Name, -*gap, r.Ours.LowerBound, r)
			}
		}
		if r.Upstream == nil != c.OursOnly || r.Upstream != nil && r.Upstream.Unplaced != 0 {
			t.Errorf("case %s: upstream's score is %+v", c.Name, r.Upstream)
		}
	}
}

func TestGrowthIsPerDoubling(t *testing.T) {
	before := row{Pods: 500, Ours: &contest.Score{Seconds: 1, AllocatedBytes: 100}}
	now := row{Pods: 2000, Ours: &contest.Score{Seconds: 9, AllocatedBytes: 400}, Upstream: &contest.Score{Seconds: 1}}
	now.grow(nil)
	if now.OursGrowth != nil {
		t.Errorf("without a size before, the growth is %v", now.OursGrowth)
	}
	now.grow(&before)
	if want := (growth{Seconds: 3, Bytes: 2}); now.OursGrowth == nil || *now.OursGrowth != want || now.UpstreamGrowth != nil {
		t.Errorf("the growth is %v and upstream's %v; want %v and none", now.OursGrowth, now.UpstreamGrowth, want)
	}
}
