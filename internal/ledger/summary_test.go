package ledger_test

import (
	"strings"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/ledger"
)

// TestSummariesShowMoney: the sign comes first, and what rounds to zero has none.
func TestSummariesShowMoney(t *testing.T) {
	for amount, want := range map[float64]string{-0.0434: "saves -$0.0434/h", 0.1: "saves $0.1000/h", -0.00001: "saves $0.0000/h"} {
		r := ledger.Record{Saving: &ledger.Saving{Event: ledger.SavingClaimed, PerHour: &amount}}
		if got := r.Summary(); !strings.Contains(got, want) {
			t.Errorf("%g: %q", amount, got)
		}
	}
}

// TestSummariesNameMethodsAsTheDocumentationDoes has the names of docs/disruption.md.
func TestSummariesNameMethodsAsTheDocumentationDoes(t *testing.T) {
	r := ledger.Record{Disruption: &ledger.Disruption{LeftAlone: []ledger.LeftAlone{{Method: "dispensable", Code: "AlreadyEmpty", Count: 3}, {Method: "drift", Code: "NotDrifted", Count: 2}}}}
	if got := r.Summary(); !strings.Contains(got, "left alone: 3 by emptiness of zero-cost pods (AlreadyEmpty), 2 by drift (NotDrifted)") {
		t.Error(got)
	}
}

// TestSummaryOfAPass: the numbers are those of what a pass looked at, not of what it decided.
func TestSummaryOfAPass(t *testing.T) {
	for want, r := range map[string]ledger.Record{
		"considered 1 pod and 4 nodes":     {Provisioning: &ledger.Provisioning{Pods: 1, Nodes: 4}},
		"considered 4 nodes, 2 candidates": {Disruption: &ledger.Disruption{Nodes: 4, Candidates: 2}},
	} {
		if got := r.Summary(); !strings.HasPrefix(got, want) {
			t.Errorf("got %q, want it to begin with %q", got, want)
		}
	}
}
