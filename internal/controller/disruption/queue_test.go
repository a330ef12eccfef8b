package disruption

import (
	"fmt"
	"testing"
	"time"
)

// TestCommandsAreInTheOrderOfTheirProposal: IDs are drawn by chance, and the order of commands that are due at the same time must not be.
func TestCommandsAreInTheOrderOfTheirProposal(t *testing.T) {
	q, now := newQueue(), time.Unix(1_800_000_000, 0)
	for i := range uint64(8) {
		q.put(command{id: fmt.Sprintf("%d", 7-i), serial: i, due: now})
	}
	for i, c := range q.due(now) {
		if c.serial != uint64(i) { //nolint:gosec // small
			t.Errorf("command %d of the proposal is number %d of those that are due", c.serial, i)
		}
	}
}

// TestNothingIsSimulatedWhileACommandIsWritten: what the snapshot shows of the command depends on how fast it is written.
func TestNothingIsSimulatedWhileACommandIsWritten(t *testing.T) {
	q, now := newQueue(), time.Unix(1_800_000_000, 0)
	q.put(command{id: "a", due: now})
	if q.writing() {
		t.Error("a command that waits is written")
	}
	q.put(command{id: "a", due: now, started: now})
	if !q.writing() {
		t.Error("a command that was started is not written")
	}
	q.put(command{id: "a", due: now, started: now, launchesWritten: true})
	if q.writing() {
		t.Error("a command whose NodeClaims exist is written")
	}
}
