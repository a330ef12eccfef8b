package create

import (
	"slices"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"
)

// TestGroupsWithdrawWhatIsOfNoUse: as long as enough pods have a place, nothing is withdrawn; then all NodeClaims of the group alone are.
func TestGroupsWithdrawWhatIsOfNoUse(t *testing.T) {
	g := NewGroups(testclock.NewFakePassiveClock(time.Unix(0, 0)))
	g.Record(3, map[string]int{"a": 1, "b": 1, "c": 1, "mixed": 1}, map[string]bool{"a": true, "b": true, "c": true})
	if got := g.Failed("a"); len(got) != 0 {
		t.Errorf("%v are withdrawn while three pods have a place", got)
	}
	if got := g.Failed("b"); !slices.Equal(got, []string{"c"}) {
		t.Errorf("%v are withdrawn, want c: other pods need the mixed one", got)
	}
	if got := g.Failed("c"); len(got) != 0 {
		t.Errorf("%v are withdrawn twice", got)
	}
	if got := g.Failed("unknown"); len(got) != 0 {
		t.Errorf("%v are withdrawn for a NodeClaim without group", got)
	}
	var none *Groups
	none.Record(2, map[string]int{"a": 1, "b": 1}, nil)
	if got := none.Failed("a"); len(got) != 0 {
		t.Errorf("a nil Groups withdraws %v", got)
	}
}
