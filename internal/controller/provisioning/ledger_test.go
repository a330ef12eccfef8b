package provisioning

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/internal/controller/bookkeeper"
	"github.com/karpenter-anew/karpenter/internal/core/unschedulable"
	"github.com/karpenter-anew/karpenter/internal/ledger"
)

// TestPassesAreRecorded: a pass says which NodeClaims it creates for which pods, and which pods fit nowhere for which reasons.
func TestPassesAreRecorded(t *testing.T) {
	w := newHarness(t, readyPool("pool"))
	book := ledger.New(w.Time.Now, 1<<20, nil)
	book.Begin(ledger.Start{Run: "r"}, nil, 1)
	w.p.Books = bookkeeper.New(bookkeeper.Deps{Ledger: book, Clock: w.Time, Client: w.Client, Cloud: w.Cloud, Metrics: w.Metrics})
	w.see(pendingPod("web"), pendingPod("api"), pendingPod("lost", selecting(corev1.LabelTopologyZone, "nowhere")))
	w.decide()
	lines, _, err := book.Read(ledger.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	var pass *ledger.Provisioning
	var created *ledger.NodeClaimEvent
	for _, line := range lines {
		r, err := ledger.Decode(line)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case r.Provisioning != nil:
			pass = r.Provisioning
		case r.NodeClaim != nil:
			created = r.NodeClaim
		}
	}
	claims := w.claims()
	if pass == nil || created == nil || len(claims) != 1 || pass.Pods != 3 || len(pass.NodeClaims) != 1 || len(pass.Unschedulable) != 1 {
		t.Fatalf("the pass is recorded as %+v, the NodeClaim as %+v", pass, created)
	}
	if c := pass.NodeClaims[0]; c.Name != claims[0].Name || c.Pods.Count != 2 || c.InstanceTypes.First[0] != "small" || *c.Price != 0.2 || c.CapacityTypes[0] != "on-demand" {
		t.Errorf("the NodeClaim of the pass is %+v", c)
	}
	if created.Name != claims[0].Name || created.Event != ledger.Created || created.Reason != "provisioned" || created.Pods.Count != 2 {
		t.Errorf("the NodeClaim is recorded as %+v", created)
	}
	why := pass.Unschedulable[0]
	if why.Pods.First[0] != "default/lost" || why.Reasons[0].NodePool != "pool" || why.Reasons[0].Text == "" || !known(why.Reasons[0].Code) {
		t.Errorf("the pod that fits nowhere is recorded as %+v", why)
	}
	before := pass.Input
	w.see(pendingPod("more"))
	w.decide()
	lines, _, err = book.Read(ledger.Filter{Kinds: []ledger.Kind{ledger.KindProvisioning}})
	if err != nil || len(lines) != 2 {
		t.Fatalf("%d passes are recorded: %v", len(lines), err)
	}
	if r, err := ledger.Decode(lines[1]); err != nil || r.Provisioning.Input == before {
		t.Errorf("another pod does not change the hash of the input: %v", err)
	}
}

// known reports whether a code has a rule.
func known(code unschedulable.Code) bool {
	for _, r := range unschedulable.Rules() {
		if r.Code == code {
			return true
		}
	}
	return false
}
