package disruption

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/controller/readyourwrites"
	"github.com/karpenter-anew/karpenter/internal/ledger"
	"github.com/karpenter-anew/karpenter/test/apiserver"
)

// TestDeletedPlansLeaveNothingBehind checks that nothing is remembered of plans that a person deleted before the controller was done with them.
func TestDeletedPlansLeaveNothingBehind(t *testing.T) {
	now := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	ps := &plans{
		Deps:    Deps{Shared: deps.Shared{Client: readyourwrites.New(apiserver.New().Build(), clocktesting.NewFakeClock(now))}},
		created: map[string]time.Time{"new": now}, postponed: map[string]time.Time{"new": now, "gone": now}, outcomes: map[string]planOutcome{},
	}
	for _, name := range []string{"new", "gone"} {
		ps.note(command{approvedBy: name}, ledger.CommandSucceeded, nil, nil)
	}
	if err := ps.read(t.Context(), &view{now: now}); err != nil {
		t.Fatal(err)
	}
	_, fresh := ps.outcome("new")
	_, gone := ps.outcome("gone")
	if !fresh || gone || len(ps.postponed) != 1 {
		t.Errorf("the outcome of a new plan is known: %t, that of a deleted one: %t; postponed: %v", fresh, gone, ps.postponed)
	}
}
