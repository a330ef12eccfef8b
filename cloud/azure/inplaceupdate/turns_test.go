package inplaceupdate

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// emptied are turns of which the saved ones are used up.
func emptied(t *testing.T) (*turns, *clocktesting.FakeClock) {
	t.Helper()
	clock := clocktesting.NewFakeClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
	out := newTurns(clock)
	for range burst {
		if wait := out.take("other"); wait != 0 {
			t.Fatalf("a saved turn is after %s", wait)
		}
	}
	return out, clock
}

func TestReservedTurnsMoveAfterAPause(t *testing.T) {
	turns, clock := emptied(t)
	if wait := turns.take("a"); wait != time.Second {
		t.Fatalf("the turn is after %s", wait)
	}
	if wait := turns.pause("throttled", time.Minute); wait != time.Minute {
		t.Fatalf("the throttled one has its turn after %s", wait)
	}
	clock.Step(time.Second)
	if wait := turns.take("a"); wait != time.Minute {
		t.Errorf("the reserved turn is after %s, want one second after the pause", wait)
	}
}

func TestATurnThatIsGivenUpCannotBeTakenLater(t *testing.T) {
	turns, clock := emptied(t)
	if wait := turns.take("a"); wait != time.Second {
		t.Fatalf("the turn is after %s", wait)
	}
	turns.take("b")
	turns.giveUp("a")
	clock.Step(time.Second)
	if wait := turns.take("a"); wait <= 0 {
		t.Error("a turn that was abandoned is taken")
	}
}
