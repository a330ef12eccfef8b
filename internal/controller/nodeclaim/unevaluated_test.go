package nodeclaim_test

import (
	"errors"
	"testing"
	"time"

	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/controller/nodeclaim"
	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
)

// TestDriftWaitsForOverlays: while NodeOverlays are not evaluated the instance types are unknown, which is not an error.
func TestDriftWaitsForOverlays(t *testing.T) {
	w := fakecluster.New(t)
	claim := w.LaunchedClaim("a")
	w.Add(fakecluster.Pool(), claim)
	w.Time.Step(2 * time.Hour)
	w.Provider.TypesErr = cloud.NewUnevaluatedNodePoolError("pool")
	d := nodeclaim.NewDisruption(w.Shared)
	if result := w.Run(d, claim); result != requeue.After(10*time.Second) {
		t.Errorf("looks again in %v, want 10s", result)
	}
	w.Provider.TypesErr = nil
	w.Run(d, claim)
	if got := fakecluster.Condition(fakecluster.Must(w, claim).Status.Conditions, "Drifted"); got != "True/InstanceTypeNotFound/InstanceTypeNotFound" {
		t.Errorf("once they are worked out: %q", got)
	}
}

// TestDriftThatNeedsNoTypesIsSeenWithoutThem: while the cloud does not list its instance types, a changed template still drifts.
func TestDriftThatNeedsNoTypesIsSeenWithoutThem(t *testing.T) {
	w := fakecluster.New(t)
	pool, claim := fakecluster.Pool(), w.LaunchedClaim("a")
	hashes(pool, "2", "v3")
	hashes(claim, "1", "v3")
	w.Add(pool, claim)
	w.Time.Step(2 * time.Hour)
	w.Provider.TypesErr = errors.New("throttled")
	w.Run(nodeclaim.NewDisruption(w.Shared), claim)
	if got := fakecluster.Condition(fakecluster.Must(w, claim).Status.Conditions, "Drifted"); got != "True/NodePoolDrifted/NodePoolDrifted" {
		t.Errorf("Drifted %q", got)
	}
}
