package e2e

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// TestKilledBetweenClaimAndNode: the controller is killed after it has created a NodeClaim and before the node has registered. The next
// one finds the claim: in the end there is one node, not two.
func TestKilledBetweenClaimAndNode(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		moment  string
		reached func(*v1.NodeClaim) bool
	}{
		{"the claim exists", func(*v1.NodeClaim) bool { return true }},
		{"the claim is launched", func(c *v1.NodeClaim) bool {
			return condition.Status(c, v1.ConditionTypeLaunched) == metav1.ConditionTrue
		}},
	} {
		t.Run(tc.moment, func(t *testing.T) {
			t.Parallel()
			w := begin(t)
			first := w.controller()
			w.create(slowClass(3*time.Second), pool(), deployment("web", 1, "500m"))
			var name string
			w.await(tc.moment, patience, func() string {
				for _, c := range w.claims() {
					if name = c.Name; tc.reached(&c) {
						w.must(first.Kill())
						return ""
					}
				}
				return fmt.Sprintf("%d nodeclaims", len(w.claims()))
			})
			if n := len(w.nodes()); n > 0 {
				t.Fatalf("the controller was killed too late: there are %d nodes", n)
			}
			w.controller()
			w.awaitRunning(1)
			w.awaitNodes(1)
			w.stays("there is one node and one nodeclaim", 3*time.Second, func() string { return w.notPaired(1) })
			if got := w.claims()[0].Name; got != name {
				t.Errorf("the nodeclaim is %q; the one from before the kill was %q", got, name)
			}
		})
	}
}

// TestKilledAtRandomMoments kills the controller repeatedly while pods are created, and while everything is deleted. The result is the same
// as without the kills.
func TestKilledAtRandomMoments(t *testing.T) {
	t.Parallel()
	const (
		seed        = 20240501
		ups, downs  = 10, 3
		podsPerUp   = 6
		longest     = 1500 * time.Millisecond
		podsPerNode = 7 // of 500m on 3.9 cores
	)
	w := begin(t)
	random := rand.New(rand.NewPCG(seed, 0))
	web := deployment("web", 0, "500m")
	p := pool(cores("4"))
	w.create(slowClass(time.Second), p, web)
	interrupted := func() {
		process := w.controller()
		moment := time.Duration(random.Int64N(int64(longest)))
		select {
		case <-process.Done():
			t.Fatalf("the controller ended by itself: %s", process.State())
		case <-time.After(moment):
			w.must(process.Kill())
		}
	}
	for round := range ups {
		w.scale(web, int32(podsPerUp*(round+1)))
		interrupted()
		t.Logf("after kill %d: %d nodeclaims, %d nodes, pods: %s", round+1, len(w.claims()), len(w.nodes()), w.notRunning(-1))
	}
	last := w.controller()
	w.awaitRunning(ups * podsPerUp)
	number := len(w.claims())
	w.awaitNodes(number)
	// Each batch may leave its last node partly empty, and no node is launched twice.
	if most := ups*podsPerUp/podsPerNode + ups; number > most {
		t.Errorf("%d nodeclaims for %d pods, at most %d are needed", number, ups*podsPerUp, most)
	}
	w.stays("nodeclaims and nodes are one to one", 3*time.Second, func() string { return w.notPaired(number) })

	w.must(last.Kill())
	w.delete(web)
	w.delete(p)
	for round := range downs {
		interrupted()
		t.Logf("after kill %d on the way down: %d nodeclaims, %d nodes", round+1, len(w.claims()), len(w.nodes()))
	}
	w.controller()
	w.awaitNothing(collectorPatience)
	if w.get(p) {
		t.Errorf("the pool is still there: %v", p.Finalizers)
	}
}
