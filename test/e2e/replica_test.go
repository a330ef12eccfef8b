package e2e

import (
	"fmt"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// replica are the flags of one controller of several.
func replica() []string {
	return []string{"--batch-idle-duration=200ms", "--leader-election-namespace=" + metav1.NamespaceDefault}
}

// holder is the holder of the lease, "" if there is none.
func (w *harness) holder() string {
	w.t.Helper()
	if lease := w.lease(); lease != nil && lease.Spec.HolderIdentity != nil {
		return *lease.Spec.HolderIdentity
	}
	return ""
}

// lease is the lease that the replicas compete for, nil if there is none.
func (w *harness) lease() *coordinationv1.Lease {
	w.t.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "karpenter-leader-election"}}
	if !w.get(lease) {
		return nil
	}
	return lease
}

// awaitReady waits until the readiness probe of a controller succeeds, which that of a standby does too.
func (w *harness) awaitReady(p *controller) {
	w.t.Helper()
	w.await("the controller is ready", patience, func() string {
		code, body, err := p.get("health probes", "/readyz")
		if err != nil || code != 200 {
			return fmt.Sprintf("%d %q %v", code, body, err)
		}
		return ""
	})
}

// A scale-up during which one replica takes over from another: this many pods, and the nodes of four cores that they need at least. On a busy
// host they are created with pauses, and planned on more.
const wantedPods, leastNodes = 14, 2

// launchTwo starts a replica that acts, and then one that stands by.
func (w *harness) launchTwo() (acts, standsBy *controller) {
	w.t.Helper()
	acts = w.launch(replica()...)
	w.awaitLog(acts, "elected leader")
	standsBy = w.launch(replica()...)
	w.awaitReady(standsBy)
	return acts, standsBy
}

// scaleUp creates the pods, and returns when the NodeClaims exist and their nodes, which register slowly, do not.
func (w *harness) scaleUp() {
	w.t.Helper()
	w.create(slowClass(3*time.Second), pool(cores("4")), deployment("web", wantedPods, "500m"))
	w.await("NodeClaims are created", patience, func() string {
		if n := len(w.claims()); n < leastNodes {
			return fmt.Sprintf("%d nodeclaims", n)
		}
		return ""
	})
}

// awaitScaledUp waits until the pods run, and checks that nodes were not launched for more pods than there are: some may have been planned on nodes
// that were launched for others, but none twice. It returns the number of nodes.
func (w *harness) awaitScaledUp() (nodes int) {
	w.t.Helper()
	w.awaitRunning(wantedPods)
	nodes = w.awaitPaired()
	planned := int64(0)
	for _, claim := range w.claims() {
		planned += claim.Spec.Resources.Requests.Pods().Value()
	}
	if planned > wantedPods {
		w.t.Errorf("the nodeclaims were made for %d pods, and there are %d", planned, wantedPods)
	}
	return nodes
}

// launchesNoMore watches for a while that nothing is launched twice.
func (w *harness) launchesNoMore(nodes int, d time.Duration) {
	w.t.Helper()
	w.stays("nothing is launched twice", d, func() string { return w.notPaired(nodes) })
}

// TestStopReleasesTheLease: SIGTERM in the middle of a scale-up ends the controller in order.
func TestStopReleasesTheLease(t *testing.T) {
	t.Attr("covers", "W004")
	t.Parallel()
	w := begin(t)
	p := w.launch(replica()...)
	w.awaitLog(p, "elected leader")
	if w.holder() == "" {
		t.Error("the lease has no holder while the controller acts")
	}
	w.create(slowClass(2*time.Second), pool(), deployment("web", 5, "500m"))
	w.await("a NodeClaim is created", patience, func() string {
		if len(w.claims()) == 0 {
			return "none is"
		}
		return ""
	})
	code, err := p.terminate(30 * time.Second)
	w.must(err)
	if code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	if holder := w.holder(); holder != "" {
		t.Errorf("%q still holds the lease", holder)
	}
}

// leaseDuration is how long a lease lasts without renewal.
const leaseDuration = 15 * time.Second

// TestStandbyTakesOver: a second replica waits, is ready while it waits, and continues where the first one stopped, before its lease would end.
// Nothing is launched twice.
func TestStandbyTakesOver(t *testing.T) {
	t.Attr("covers", "C565")
	t.Parallel()
	w := begin(t)
	first, second := w.launchTwo()
	w.scaleUp()
	if second.logged("elected leader") != nil {
		t.Fatal("both replicas act")
	}
	code, err := first.terminate(30 * time.Second)
	w.must(err)
	if code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	stopped := time.Now()
	w.awaitLog(second, "elected leader")
	if took := time.Since(stopped); took >= leaseDuration {
		t.Errorf("the standby took over after %s: the lease was not released", took)
	}
	w.launchesNoMore(w.awaitScaledUp(), 3*time.Second)
}

// TestStandbyTakesOverFromTheDead: the leader is killed with pods pending and does not release the lease; the standby waits until the
// lease ends, and takes over then. Nothing is launched twice.
func TestStandbyTakesOverFromTheDead(t *testing.T) {
	t.Parallel()
	w := begin(t)
	first, second := w.launchTwo()
	w.scaleUp()
	w.must(first.Kill())
	ends := w.lease().Spec.RenewTime.Add(leaseDuration)
	w.awaitLog(second, "elected leader")
	if now := time.Now(); now.Before(ends) {
		t.Errorf("the standby took over %s before the lease ends", ends.Sub(now))
	}
	w.launchesNoMore(w.awaitScaledUp(), 3*time.Second)
}

// TestAFrozenLeaderWakesUpAndDoesNothing: the leader is suspended with pods pending, another replica takes over and places them, and the
// first one is resumed and still believes to be the leader. It launches nothing, and exits.
func TestAFrozenLeaderWakesUpAndDoesNothing(t *testing.T) {
	t.Parallel()
	w := begin(t)
	first, second := w.launchTwo()
	web := deployment("web", 0, "500m")
	w.create(class(), pool(cores("4")), web)
	w.scale(web, wantedPods)
	w.must(first.freeze())
	w.awaitLog(second, "elected leader")
	nodes := w.awaitScaledUp()
	w.must(first.thaw())
	w.launchesNoMore(nodes, 5*time.Second)
	w.await("the first replica ends", patience, func() string {
		if !first.Ended() {
			return "it goes on"
		}
		return ""
	})
	if holder := w.holder(); holder == "" {
		t.Error("it took the lease away with it")
	}
}
