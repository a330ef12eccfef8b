package unavailableofferings_test

import (
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
	"pgregory.net/rapid"

	"github.com/karpenter-anew/karpenter/cloud/aws/unavailableofferings"
)

// Tests that sleep run in a bubble of testing/synctest, where sleeping takes no time.

// pool is a pool of one type.
func pool(capacityType, zone string) unavailableofferings.Offering {
	return unavailableofferings.Offering{InstanceType: "m5.large", CapacityType: capacityType, Zone: zone}
}

func TestMarks(t *testing.T) {
	t.Attr("covers", "A243 A328")
	synctest.Test(t, func(t *testing.T) {
		m := unavailableofferings.New(clock.RealClock{})
		marked, other := pool("spot", "a"), pool("spot", "b")
		before, elsewhere := m.Sequence("m5.large"), m.Sequence("c5.large")
		if got := m.MarkUnavailable(marked); got != 3*time.Minute {
			t.Errorf("left alone for %s", got)
		}
		if !m.IsUnavailable(marked, nil) || m.IsUnavailable(other, nil) || m.IsUnavailable(pool("on-demand", "a"), nil) {
			t.Error("a mark is for one pool")
		}
		atMark := m.Sequence("m5.large")
		if atMark <= before || m.Sequence("c5.large") != elsewhere {
			t.Error("a mark must increase the sequence number of its type only")
		}
		time.Sleep(3*time.Minute - time.Nanosecond)
		if !m.IsUnavailable(marked, nil) || m.Sequence("m5.large") != atMark {
			t.Error("the mark ended early")
		}
		time.Sleep(time.Nanosecond)
		if m.Sequence("m5.large") <= atMark || m.IsUnavailable(marked, nil) {
			t.Error("the mark did not end, or did so silently")
		}
	})
}

func TestMarksLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, p := unavailableofferings.New(clock.RealClock{}), pool("spot", "a")
		m.MarkUnavailable(p)
		time.Sleep(2 * time.Minute)
		m.MarkUnavailable(p)
		time.Sleep(2 * time.Minute)
		if !m.IsUnavailable(p, nil) {
			t.Error("a second mark does not make the first last")
		}
		time.Sleep(time.Minute)
		if m.IsUnavailable(p, nil) {
			t.Error("two marks together last longer than one")
		}
	})
}

func TestScopes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := unavailableofferings.New(clock.RealClock{})
		outside, inside, partition := pool("spot", "a"), pool("spot", "a"), pool("spot", "a")
		inside.PlacementGroup, partition.PlacementGroup, partition.Partition = "pg-1", "pg-1", "3"
		for _, marked := range []unavailableofferings.Offering{outside, inside, partition} {
			m.MarkUnavailable(marked)
			for _, p := range []unavailableofferings.Offering{outside, inside, partition} {
				if m.IsUnavailable(p, nil) != (p == marked) {
					t.Errorf("%v is marked, and %v is short: %t", marked, p, p != marked)
				}
			}
			m.MarkAvailable(marked)
		}
	})
}

func TestCapacityTypesAndSubnets(t *testing.T) {
	t.Attr("covers", "A244 A245 A328")
	synctest.Test(t, func(t *testing.T) {
		m := unavailableofferings.New(clock.RealClock{})
		first := m.Sequence("any")
		m.MarkCapacityTypeUnavailable("spot")
		if !m.IsUnavailable(pool("spot", "a"), nil) || m.IsUnavailable(pool("on-demand", "a"), nil) || m.Sequence("any") <= first {
			t.Error("a mark of a capacity type is for all its pools, and for all types")
		}
		time.Sleep(time.Minute)
		second := m.Sequence("any")
		m.MarkSubnetFull("subnet-1")
		if m.IsUnavailable(pool("on-demand", "a"), []string{"subnet-1", "subnet-2"}) {
			t.Error("a zone with a subnet left is short")
		}
		if !m.IsUnavailable(pool("on-demand", "a"), []string{"subnet-1"}) || m.IsUnavailable(pool("on-demand", "a"), nil) || m.Sequence("any") <= second {
			t.Error("a zone without a subnet left is not short")
		}
		m.MarkSubnetFull("subnet-2")
		if !m.IsUnavailable(pool("on-demand", "a"), []string{"subnet-1", "subnet-2"}) {
			t.Error("a zone of two full subnets is not short")
		}
		time.Sleep(2 * time.Minute)
		third := m.Sequence("any")
		if m.IsUnavailable(pool("spot", "a"), nil) || !m.IsUnavailable(pool("on-demand", "a"), []string{"subnet-1"}) {
			t.Error("marks end each at its own time")
		}
		time.Sleep(time.Minute)
		if m.IsUnavailable(pool("on-demand", "a"), []string{"subnet-1"}) || m.Sequence("any") <= third {
			t.Error("the mark of the subnet did not end")
		}
	})
}

// TestGrowingPauses checks that a pool that keeps failing is tried less and less often.
func TestGrowingPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, p := unavailableofferings.New(clock.RealClock{}), pool("spot", "a")
		for _, want := range []time.Duration{3, 6, 12, 24, 48, 60, 60} {
			got := m.MarkUnavailable(p)
			if got != want*time.Minute {
				t.Errorf("left alone for %s, want %s", got, want*time.Minute)
			}
			time.Sleep(got - time.Second)
			if !m.IsUnavailable(p, nil) {
				t.Errorf("retried before %s", got)
			}
			time.Sleep(2 * time.Second)
			if m.IsUnavailable(p, nil) {
				t.Errorf("not tried after %s", got)
			}
		}
		m.MarkAvailable(p)
		if got := m.MarkUnavailable(p); got != unavailableofferings.MinDuration {
			t.Errorf("after a success left alone for %s", got)
		}
		time.Sleep(2*unavailableofferings.MinDuration + time.Second)
		if got := m.MarkUnavailable(p); got != unavailableofferings.MinDuration {
			t.Errorf("after a quiet time left alone for %s", got)
		}
	})
}

// TestSuccessOfAMarkedPool checks that a success removes the mark at once, and is reported.
func TestSuccessOfAMarkedPool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, p := unavailableofferings.New(clock.RealClock{}), pool("spot", "a")
		m.MarkUnavailable(p)
		before := m.Sequence("m5.large")
		m.MarkAvailable(p)
		if m.IsUnavailable(p, nil) || m.Sequence("m5.large") <= before {
			t.Error("the pool is still left alone, or it changed silently")
		}
	})
}

// TestAnswersChangeOnlyWithTheNumber checks what caches of offerings depend on: while the sequence number is equal, so is
// the answer.
func TestAnswersChangeOnlyWithTheNumber(t *testing.T) {
	t.Attr("covers", "A328")
	rapid.Check(t, func(r *rapid.T) {
		steps := rapid.SliceOfN(rapid.IntRange(0, 6), 1, 40).Draw(r, "steps")
		pauses := rapid.SliceOfN(rapid.Int64Range(0, int64(10*time.Minute)), len(steps), len(steps)).Draw(r, "pauses")
		synctest.Test(t, func(*testing.T) {
			m, p := unavailableofferings.New(clock.RealClock{}), pool("spot", "a")
			number, answer := m.Sequence("m5.large"), false
			for i, step := range steps {
				switch step {
				case 0:
					m.MarkUnavailable(p)
				case 1:
					m.MarkCapacityTypeUnavailable("spot")
				case 2:
					m.MarkSubnetFull("subnet-1")
				case 3:
					m.MarkAvailable(p)
				case 4:
					m.MarkUnavailable(pool("on-demand", "b"))
				default:
					time.Sleep(time.Duration(pauses[i]))
				}
				now := m.Sequence("m5.large")
				short := m.IsUnavailable(p, []string{"subnet-1"})
				if now < number || (now == number && short != answer) {
					r.Errorf("step %d: the number went from %d to %d and the answer from %t to %t", i, number, now, answer, short)
				}
				until, why := m.Unavailable(p, []string{"subnet-1"})
				if short != until.After(time.Now()) || short != (why != "") {
					r.Errorf("step %d: unavailable is %t, and the end is %s (%s)", i, short, until, why)
				}
				number, answer = now, short
			}
		})
	})
}

// TestUntil checks that the end is that of the mark which lasts longest, and that a zone with one free subnet has no end.
func TestUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, p := unavailableofferings.New(clock.RealClock{}), pool("spot", "a")
		expect := func(step string, subnets []string, left time.Duration, reason string) {
			t.Helper()
			until, why := m.Unavailable(p, subnets)
			if left == 0 && !until.IsZero() || left != 0 && time.Until(until) != left || why != reason {
				t.Errorf("%s: until %s because of %q", step, time.Until(until), why)
			}
		}
		expect("no mark", nil, 0, "")
		m.MarkUnavailable(p)
		expect("a mark", nil, 3*time.Minute, unavailableofferings.ReasonCapacity)
		time.Sleep(time.Minute)
		m.MarkCapacityTypeUnavailable("spot")
		expect("spot", nil, 3*time.Minute, unavailableofferings.ReasonCapacityType)
		m.MarkSubnetFull("subnet-1")
		time.Sleep(time.Minute)
		m.MarkSubnetFull("subnet-2")
		expect("one subnet is free", []string{"subnet-2", "subnet-3"}, 2*time.Minute, unavailableofferings.ReasonCapacityType)
		expect("the first of two that are full", []string{"subnet-1", "subnet-2"}, 2*time.Minute, unavailableofferings.ReasonCapacityType)
		expect("the zone is full for longer", []string{"subnet-2"}, 3*time.Minute, unavailableofferings.ReasonSubnets)
	})
}
