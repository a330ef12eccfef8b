package reservation_test

import (
	"testing"
	"time"

	"github.com/karpenter-anew/karpenter/cloud/aws/reservation"
)

func TestLedger(t *testing.T) {
	t.Attr("covers", "A187")
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	l := &reservation.Ledger{}
	l.Launched("cr-1", now)
	l.Ended("cr-1")
	if l.Left("cr-1") != 0 {
		t.Error("an unknown reservation has capacity")
	}
	l.Observed("cr-1", 2, now)
	for _, step := range []struct {
		name string
		do   func()
		want int
	}{
		{"a launch takes", func() { l.Launched("cr-1", now) }, 1},
		{"one that EC2 has counted does not", func() { l.Launched("cr-1", now.Add(-time.Second)) }, 1},
		{"an end gives back", func() { l.Ended("cr-1") }, 2},
		{"a refusal empties", func() { l.Exhausted("cr-1") }, 0},
		{"never below nothing", func() { l.Launched("cr-1", now) }, 0},
		{"what EC2 says counts", func() { l.Observed("cr-1", 7, now.Add(time.Minute)) }, 7},
	} {
		if step.do(); l.Left("cr-1") != step.want {
			t.Errorf("%s: %d left, want %d", step.name, l.Left("cr-1"), step.want)
		}
	}
}
