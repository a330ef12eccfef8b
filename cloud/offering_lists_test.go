package cloud

import (
	"fmt"
	"testing"
	"time"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

func TestOfferingListsOfUnusedNodePoolsAreDropped(t *testing.T) {
	var lists OfferingLists
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	types := []*InstanceType{{Name: "small"}}
	kept := lists.Of("kept", types, v1.LabelRules{}, now)
	for i := range 10_000 { // two hours of NodePools that come, launch and go
		now = now.Add(720 * time.Millisecond)
		lists.Of(fmt.Sprint("pool-", i), types, v1.LabelRules{}, now)
		if lists.Of("kept", types, v1.LabelRules{}, now) != kept {
			t.Fatalf("the list of a pool in use was made again after %d others", i)
		}
	}
	if n := len(lists.byPool); n > 5_001 {
		t.Errorf("%d lists are kept, those of the last hour are 5001", n)
	}
}
