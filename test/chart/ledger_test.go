package chart

import (
	"testing"

	"github.com/karpenter-anew/karpenter/internal/options"
)

// TestValuesOfTheLedger: the values reach the binary.
func TestValuesOfTheLedger(t *testing.T) {
	got := parsed(t, named("settings.clusterName=one", "settings.ledgerMemory=128Mi", "settings.ledgerDir=/var/lib/karpenter/ledger", "settings.ledgerDisk=2Gi",
		"settings.consoleAddr=127.0.0.1:8082"))
	if want := (options.Ledger{Memory: 128 << 20, Dir: "/var/lib/karpenter/ledger", Disk: 2 << 30}); got.Ledger != want || got.Serving.ConsoleAddr != "127.0.0.1:8082" {
		t.Errorf("got %+v, %q", got.Ledger, got.Serving.ConsoleAddr)
	}
	if off := parsed(t, named("settings.clusterName=one", "settings.ledgerMemory=0Mi")); off.Ledger.Enabled() {
		t.Error("the ledger cannot be turned off")
	}
}

// TestOnlyAConsoleForOthersMayReviewTokens: one on the loopback interface authenticates no clients.
func TestOnlyAConsoleForOthersMayReviewTokens(t *testing.T) {
	for address, want := range map[string]bool{
		"": false, "127.0.0.1:8082": false, "localhost:8082": false, ":8082": true, "0.0.0.0:8082": true,
	} {
		tokens, access := false, false
		for _, g := range grants(named("settings.clusterName=one", "settings.consoleAddr="+address).objects(t)) {
			tokens = tokens || g.covers(call{group: "authentication.k8s.io", resource: "tokenreviews", verb: "create"})
			access = access || g.covers(call{group: "authorization.k8s.io", resource: "subjectaccessreviews", verb: "create"})
		}
		if tokens != want || access != want {
			t.Errorf("%q: token reviews are allowed %t, access reviews %t", address, tokens, access)
		}
	}
}
