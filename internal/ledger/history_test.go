package ledger_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/ledger"
)

// fleet describes a History in one line.
func fleet(h *ledger.History) string {
	var out []string
	for _, s := range h.NodeClaims() {
		price := "?"
		if s.Price != nil {
			price = fmt.Sprint(*s.Price)
		}
		out = append(out, strings.Join([]string{s.Name, string(s.Phase), s.InstanceType, s.Node, price}, "/"))
	}
	return strings.Join(out, " ")
}

// TestHistoryRebuildsTheFleet: the events of NodeClaims are enough to know the fleet at any moment.
func TestHistoryRebuildsTheFleet(t *testing.T) {
	state := func(s ledger.NodeClaimState, phase ledger.Phase) ledger.Record {
		return ledger.Record{Kind: ledger.KindNodeClaim, NodeClaim: &ledger.NodeClaimEvent{Event: phase, NodeClaimState: s}}
	}
	var h ledger.History
	for _, step := range []struct {
		record   ledger.Record
		want     string
		complete bool
	}{
		{state(ledger.NodeClaimState{Name: "a", UID: "1", NodePool: "p"}, ledger.Created), "a/created///?", false},
		{ledger.Record{Start: &ledger.Start{}}, "a/created///?", false},
		{ledger.Record{Fleet: &ledger.Fleet{Part: 1, Parts: 2, NodeClaims: []ledger.NodeClaimState{{Name: "b", UID: "2", Phase: ledger.Initialized}}}}, "a/created///?", false},
		{ledger.Record{Fleet: &ledger.Fleet{Part: 2, Parts: 2, NodeClaims: []ledger.NodeClaimState{{Name: "c", UID: "3"}}}}, "b/initialized///? c////?", true},
		{state(ledger.NodeClaimState{Name: "c", InstanceType: "m", Price: ledger.Known(2, true)}, ledger.Launched), "b/initialized///? c/launched/m//2", true},
		{state(ledger.NodeClaimState{Name: "c", Node: "n"}, ledger.Registered), "b/initialized///? c/registered/m/n/2", true},
		{state(ledger.NodeClaimState{Name: "b"}, ledger.Disrupted), "b/initialized///? c/registered/m/n/2", true},
		{state(ledger.NodeClaimState{Name: "b"}, ledger.Deleting), "b/deleting///? c/registered/m/n/2", true},
		{state(ledger.NodeClaimState{Name: "b"}, ledger.Deleted), "c/registered/m/n/2", true},
		{state(ledger.NodeClaimState{Name: "c", UID: "4"}, ledger.Created), "c/created///?", true},
		{ledger.Record{Start: &ledger.Start{}}, "c/created///?", false},
	} {
		h.Apply(step.record)
		if got := fleet(&h); got != step.want || h.Complete != step.complete {
			t.Errorf("after %+v: %q, complete %v; want %q, %v", step.record, got, h.Complete, step.want, step.complete)
		}
	}
}

func TestFleetIsSplit(t *testing.T) {
	for _, n := range []int{0, 1, 500, 501, 1700} {
		claims := make([]ledger.NodeClaimState, n)
		for i := range claims {
			claims[i].Name = fmt.Sprint("claim-", i)
		}
		var h ledger.History
		for _, part := range ledger.FleetParts(claims) {
			if len(part.NodeClaims) > 500 {
				t.Errorf("a part has %d NodeClaims", len(part.NodeClaims))
			}
			h.Apply(ledger.Record{Fleet: &part})
		}
		if got := len(h.NodeClaims()); got != n || !h.Complete {
			t.Errorf("%d of %d NodeClaims are there, complete %v", got, n, h.Complete)
		}
	}
}
