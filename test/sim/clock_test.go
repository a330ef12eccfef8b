package sim

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestWrongClock: the wall clock of a process jumps, and what it measures itself does not.
func TestWrongClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		skew := time.Duration(0)
		c := &Clock{world: NewWorld(1), alive: func() bool { return true }, skew: func() time.Duration { return skew }}
		before, stored := c.Now(), time.Now()
		if !before.Equal(stored) || before.Format(time.RFC3339Nano) != stored.Format(time.RFC3339Nano) {
			t.Errorf("a right clock reads %s at %s", before, stored)
		}
		for _, jump := range []time.Duration{time.Minute, -time.Hour} {
			skew = jump
			began := time.Now()
			time.Sleep(3 * time.Second)
			elapsed := time.Since(stored)
			if got := c.Now().Sub(before); got != elapsed {
				t.Errorf("with a jump of %s, %s have passed since the first reading, want %s", jump, got, elapsed)
			}
			if got := c.Since(stored); got != elapsed+jump {
				t.Errorf("with a jump of %s, a time from elsewhere is %s ago, want %s", jump, got, elapsed+jump)
			}
			if got, want := c.Now().Round(0), began.Add(3*time.Second+jump); !got.Equal(want) {
				t.Errorf("with a jump of %s, the wall clock shows %s, want %s", jump, got, want)
			}
		}
	})
}
