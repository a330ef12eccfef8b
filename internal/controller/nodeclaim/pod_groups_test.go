package nodeclaim_test

import (
	"errors"
	"testing"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/controller/nodeclaim"
)

// TestAFailedLaunchWithdrawsTheGang: NodeClaims that were created with the failed one for a gang, and are of no use without it, are deleted
// unless they are launched. Those of other pods stay.
func TestAFailedLaunchWithdrawsTheGang(t *testing.T) {
	t.Attr("covers", "N464")
	w := fakecluster.New(t)
	failing, waiting, other := w.Claim("failing"), w.Claim("waiting"), w.Claim("other")
	launched := w.LaunchedClaim("launched", v1.ConditionTypeLaunched)
	w.Add(failing, waiting, other, launched)
	w.GroupClaims.Record(3, map[string]int{"failing": 1, "waiting": 1, "launched": 1}, map[string]bool{"failing": true, "waiting": true, "launched": true})
	l := nodeclaim.NewLifecycle(w.Shared, &health{})
	w.Provider.CreateErr = cloud.NewInsufficientCapacityError(errors.New("none left"))
	w.Run(l, failing)
	for _, c := range []struct {
		claim *v1.NodeClaim
		stays bool
	}{{failing, false}, {waiting, false}, {other, true}, {launched, true}} {
		if got, exists := fakecluster.Get(w, c.claim); (exists && got.DeletionTimestamp == nil) != c.stays {
			t.Errorf("NodeClaim %s stays: %t, want %t", c.claim.Name, !c.stays, c.stays)
		}
	}
}
