package nodeclaim_test

import (
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/controller/nodeclaim"
)

// jumping is a clock that is set: Now jumps, and Since does not.
type jumping struct {
	clock.Clock
	ahead time.Duration
}

func (j *jumping) Now() time.Time { return j.Clock.Now().Add(j.ahead) }

// TestAClockThatJumps: a clock that is set forward makes nothing expire at once that is not due; claims that were due expire, and the
// controller follows a clock that stays ahead.
func TestAClockThatJumps(t *testing.T) {
	w := fakecluster.New(t)
	hour := time.Hour
	claim := w.LaunchedClaim("a")
	claim.Spec.ExpireAfter.Duration = &hour
	w.Add(claim)
	c := &jumping{Clock: w.Time}
	w.Clock = c
	e := nodeclaim.NewExpiration(w.Shared)
	expires := func(when string, want bool) {
		t.Helper()
		result := w.Run(e, claim)
		now, there := fakecluster.Get(w, claim)
		if expired := !there || now.DeletionTimestamp != nil; expired != want {
			t.Fatalf("%s: expired %t, want %t", when, expired, want)
		}
		if !want && result.RequeueAfter <= 0 {
			t.Errorf("%s: not requeued", when)
		}
	}
	expires("at first", false)
	c.ahead = 365 * 24 * time.Hour
	expires("after a jump of a year", false)
	w.Time.Step(10 * time.Minute)
	expires("ten minutes later", false)
	c.ahead = 0
	w.Time.Step(time.Minute)
	expires("after the correction", false)
	w.Time.Step(48 * time.Minute)
	expires("a minute before it is due", false)
	w.Time.Step(time.Minute)
	expires("when it is due", true)

	another := func(name string) {
		claim = w.LaunchedClaim(name)
		claim.Spec.ExpireAfter.Duration = &hour
		w.Add(claim)
		expires("a new claim", false)
	}
	another("b")
	c.ahead = 2 * time.Hour
	expires("a jump that is right", false)
	w.Time.Step(31 * time.Minute)
	expires("half an hour after it", true)

	c.ahead = 0
	another("c")
	w.Time.Step(40 * time.Minute)
	c.ahead = 40 * time.Minute
	expires("a jump after the controller was idle", false)
	c.ahead = 0
	w.Time.Step(19 * time.Minute)
	expires("a minute before it is due", false)
}

// TestAClockThatJumpsTimesNothingOut: NodeClaims that launch keep the time that they have to register.
func TestAClockThatJumpsTimesNothingOut(t *testing.T) {
	w := fakecluster.New(t)
	claim := w.LaunchedClaim("a")
	w.Add(claim)
	c := &jumping{Clock: w.Time}
	w.Clock = c
	l := nodeclaim.NewLifecycle(w.Shared, &health{})
	w.Run(l, claim)
	c.ahead = 24 * time.Hour
	w.Run(l, claim)
	if now, there := fakecluster.Get(w, claim); !there || now.DeletionTimestamp != nil {
		t.Error("the nodeclaim timed out")
	}
}
