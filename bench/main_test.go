package main

import (
	"context"
	"testing"

	"github.com/karpenter-anew/karpenter/bench/contest"
	"github.com/karpenter-anew/karpenter/bench/workload"
)

// Both sides answer every case of the repository at a small size, and every claim can be launched. That nobody leaves a
// pod behind shows that the question reached both whole.
func TestBothSidesAnswerEveryCase(t *testing.T) {
	cases, err := workload.Find("cases")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		if c.Generator.Trace != nil {
			continue
		}
		r, err := measure(context.Background(), settings{effort: contest.Effort{Runs: 1}}, c, 40)
		if err != nil {
			t.Errorf("case %s: %v", c.Name, err)
			continue
		}
		if r.Ours.Unplaced != 0 || r.Peer.Unplaced != 0 {
			t.Errorf("case %s: we leave %d pods and the peer %d", c.Name, r.Ours.Unplaced, r.Peer.Unplaced)
		}
	}
}
