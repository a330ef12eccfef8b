package podlatency

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// at returns the time this many seconds after the start of the tests.
func at(seconds int) time.Time { return time.Date(2026, 1, 1, 0, 0, seconds, 0, time.UTC) }

func TestTimes(t *testing.T) {
	t.Attr("covers", "L007 L393")
	for name, c := range map[string]struct {
		act  func(*Tracker)
		want Times
	}{
		"only the first sight counts": {func(b *Tracker) {
			b.Observe("p", at(1))
			b.Observe("p", at(11))
		}, Times{Seen: at(1)}},
		"a place at a healthy pool": {func(b *Tracker) {
			b.Observe("p", at(1))
			b.RecordPlacement("p", true, at(3))
		}, Times{Seen: at(1), Decided: at(3), Placed: at(3), PlacedHealthy: at(3)}},
		"a place at a pool that is not healthy": {func(b *Tracker) {
			b.Observe("p", at(1))
			b.RecordPlacement("p", false, at(3))
		}, Times{Seen: at(1), Decided: at(3), Placed: at(3)}},
		"a later place overwrites nothing": {func(b *Tracker) {
			b.Observe("p", at(1))
			b.RecordPlacement("p", true, at(3))
			b.RecordPlacement("p", true, at(9))
		}, Times{Seen: at(1), Decided: at(3), Placed: at(3), PlacedHealthy: at(3)}},
		"a place that became healthy": {func(b *Tracker) {
			b.Observe("p", at(1))
			b.RecordPlacement("p", false, at(3))
			b.RecordPlacement("p", true, at(9))
		}, Times{Seen: at(1), Decided: at(3), Placed: at(3), PlacedHealthy: at(9)}},
		"a place that is healthy no more": {func(b *Tracker) {
			b.Observe("p", at(1))
			b.RecordPlacement("p", true, at(3))
			b.RecordPlacement("p", false, at(9))
		}, Times{Seen: at(1), Decided: at(3), Placed: at(3)}},
		"a refusal takes the places back": {func(b *Tracker) {
			b.Observe("p", at(1))
			b.RecordPlacement("p", true, at(3))
			b.RecordUnschedulable("p", at(5))
		}, Times{Seen: at(1), Decided: at(3)}},
		"a place after a refusal": {func(b *Tracker) {
			b.Observe("p", at(1))
			b.RecordUnschedulable("p", at(3))
			b.RecordPlacement("p", true, at(9))
		}, Times{Seen: at(1), Decided: at(3), Placed: at(9), PlacedHealthy: at(9)}},
	} {
		t.Run(name, func(t *testing.T) {
			var b Tracker
			c.act(&b)
			got, _ := b.Get("p")
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			b.Forget("p")
			if _, known := b.Get("p"); known {
				t.Error("it was not forgotten")
			}
		})
	}
}

func TestOnlyTheFirstVerdictTellsHowLongItTook(t *testing.T) {
	t.Attr("covers", "L393")
	for name, c := range map[string]struct {
		act   func(*Tracker) (time.Duration, bool)
		want  time.Duration
		first bool
	}{
		"a place": {func(b *Tracker) (time.Duration, bool) {
			b.Observe("p", at(1))
			return b.RecordPlacement("p", false, at(4))
		}, 3 * time.Second, true},
		"a refusal": {func(b *Tracker) (time.Duration, bool) {
			b.Observe("p", at(1))
			return b.RecordUnschedulable("p", at(4))
		}, 3 * time.Second, true},
		"a place after a refusal": {func(b *Tracker) (time.Duration, bool) {
			b.Observe("p", at(1))
			b.RecordUnschedulable("p", at(4))
			return b.RecordPlacement("p", true, at(9))
		}, 0, false},
		"a pod that was not seen": {func(b *Tracker) (time.Duration, bool) { return b.RecordPlacement("p", true, at(4)) }, 0, false},
		"a pod that is gone": {func(b *Tracker) (time.Duration, bool) {
			b.Observe("p", at(1))
			b.Forget("p")
			b.RecordPlacement("p", true, at(4))
			return b.RecordUnschedulable("p", at(5))
		}, 0, false},
		"a pod of another UID": {func(b *Tracker) (time.Duration, bool) {
			b.Observe("p", at(1))
			b.RecordUnschedulable("p", at(4))
			b.Observe("q", at(5))
			return b.RecordUnschedulable("q", at(9))
		}, 4 * time.Second, true},
	} {
		var b Tracker
		if waited, first := c.act(&b); waited != c.want || first != c.first {
			t.Errorf("%s: %v, first %v; want %v, %v", name, waited, first, c.want, c.first)
		}
	}
}

func TestManyAtOnce(t *testing.T) {
	var b Tracker
	var work sync.WaitGroup
	for i := range 50 {
		work.Go(func() {
			uid := fmt.Sprint(i % 5)
			b.Observe(uid, at(0))
			b.RecordPlacement(uid, true, at(1))
			b.Get(uid)
			b.RecordUnschedulable(uid, at(2))
			b.Forget(uid)
		})
	}
	work.Wait()
	if len(b.pods) != 0 {
		t.Errorf("%d pods are left", len(b.pods))
	}
}
