package explain

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
)

// policed is a question about the shop with an OperationsPolicy, at noon.
func policed(t *testing.T, spec string) Question {
	t.Helper()
	q := shop(t, quiet, free, drifted("web-1"))
	p := &opsv1alpha1.OperationsPolicy{ObjectMeta: metav1.ObjectMeta{Name: "nights"}}
	if err := yaml.UnmarshalStrict([]byte(spec), &p.Spec); err != nil {
		t.Fatal(err)
	}
	q.Objects, q.Options.OperationsPolicies = append(q.Objects, p), true
	return q
}

func verdictOn(t *testing.T, a Node, reason disrupt.Reason) Verdict {
	t.Helper()
	for _, v := range a.Verdicts {
		if v.Reason == string(reason) {
			return v
		}
	}
	t.Fatalf("no verdict for %s in\n%s", reason, a.Text())
	return Verdict{}
}

// TestClosedNode: the answer names the policy, and says when the window opens.
func TestClosedNode(t *testing.T) {
	q := policed(t, `{windows: [{schedule: "0 15 * * *", duration: 1h, reasons: [Drifted]}]}`)
	a, err := AboutNode(t.Context(), q, "node-1")
	if err != nil {
		t.Fatal(err)
	}
	v, opens := verdictOn(t, a, disrupt.Drifted), time.Date(2026, 1, 2, 15, 0, 0, 0, time.UTC)
	if v.Now || v.Obstacle == nil || v.Obstacle.Code != "OutsideMaintenanceWindow" || v.Obstacle.Until == nil || !v.Obstacle.Until.Equal(opens) ||
		!strings.Contains(v.Obstacle.Message, `OperationsPolicy "nights"`) {
		t.Errorf("verdict %+v with obstacle %+v, want one until %s", v, v.Obstacle, opens)
	}
	s, err := NewAnalysis(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := s.Causes()["node-1"], (Cause{disrupt.Drifted, "OutsideMaintenanceWindow"}); got != want {
		t.Errorf("cause %v, want %v", got, want)
	}
	pool, err := s.Standing("web")
	if err != nil {
		t.Fatal(err)
	}
	for _, allowance := range pool.Allowances {
		closed := allowance.Closed != nil && allowance.Closed.OperationsPolicy == "nights" && allowance.Closed.Until.Equal(opens)
		if want := allowance.Reason == "Drifted"; closed != want || want && *allowance.Allowed != 0 {
			t.Errorf("allowance %+v, want closed=%t", allowance, want)
		}
	}
	q.Options.Now = opens
	if a, err = AboutNode(t.Context(), q, "node-1"); err != nil {
		t.Fatal(err)
	}
	if v := verdictOn(t, a, disrupt.Drifted); !v.Now {
		t.Errorf("verdict %+v while the window is open, want now", v)
	}
}

// TestNodeToApprove: nothing happens before a person approves, and proposed commands say so.
func TestNodeToApprove(t *testing.T) {
	q := policed(t, `{approval: {mode: Always, reasons: [Drifted]}}`)
	a, err := AboutNode(t.Context(), q, "node-1")
	if err != nil {
		t.Fatal(err)
	}
	if v := verdictOn(t, a, disrupt.Drifted); v.Now || v.Plan == nil || v.Plan.Approval == nil || v.Plan.Approval.OperationsPolicy != "nights" {
		t.Errorf("verdict %+v, want a plan to approve", v)
	}
	pool, err := AboutNodePool(t.Context(), q, "web")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range pool.Disruption {
		if o.Reason == "Drifted" && (o.Possible != 1 || o.Now != 0 || o.NeedApproval != 1) {
			t.Errorf("outlook %+v, want one node to approve", o)
		}
	}
}

// TestSoftExpiryOfANode: with soft expiry, there is one more reason.
func TestSoftExpiryOfANode(t *testing.T) {
	a, err := AboutNode(t.Context(), policed(t, `{softExpiry: {before: 24h}}`), "node-1")
	if err != nil {
		t.Fatal(err)
	}
	if v := verdictOn(t, a, disrupt.Expired); v.Now || v.Obstacle == nil || v.Obstacle.Code != "NotExpired" {
		t.Errorf("verdict %+v, want an obstacle", v)
	}
}
