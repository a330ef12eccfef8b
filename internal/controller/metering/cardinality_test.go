package metering

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
)

// TestSeriesGoWithTheirObjects fills a cluster with pools, nodes, NodeClaims and pods and deletes all of them, twice and with different names: the
// second time must leave no more series than the first.
func TestSeriesGoWithTheirObjects(t *testing.T) {
	const pools, nodesPerPool, podsPerNode = 20, 5, 10
	w := newHarness(t)
	meters := newPools(w.deps)
	ofClaims := thenOnDelete(newStatuses(w.deps, ofNodeClaims(w.deps)).handler(), meters.dropMember)
	ofNodes := thenOnDelete(newStatuses(w.deps, ofNodes(w.deps)).handler(), meters.dropMember)
	live := func(generation int) (full int) {
		var ends []func()
		for p := range pools {
			pool := fakecluster.Pool()
			pool.Name = fmt.Sprintf("pool-%d-%d", generation, p)
			pool.Spec.Limits = v1.Limits(fakecluster.Resources("cpu", "10"))
			meters.put(pool)
			for n := range nodesPerPool {
				name := fmt.Sprintf("%s-%d", pool.Name, n)
				node, claim := w.inPool(name), w.LaunchedClaim(name)
				for _, o := range []client.Object{node, claim} {
					o.GetLabels()[v1.NodePoolLabelKey] = pool.Name
					o.SetFinalizers([]string{v1.TerminationFinalizer})
				}
				w.nodes.putNode(node)
				ofNodes.OnAdd(node, false)
				ofClaims.OnAdd(claim, false)
				ofClaims.OnUpdate(claim, w.said(claim, v1.ConditionTypeInitialized))
				w.Metrics.NodeClaims.Terminated.WithLabelValues(pool.Name, "spot", "zone-1").Inc()
				for i := range podsPerNode {
					pod := w.asking(fmt.Sprintf("%s-%d", name, i), "", "1", "1Gi", pending)
					w.nodes.putPod(pod)
					bound := changed(pod, boundTo(name, w.Time.Now()), readyAt(w.Time.Now()))
					w.nodes.putPod(bound)
					ends = append(ends, func() { w.nodes.dropPod(bound) })
				}
				ends = append(ends, func() {
					now := &metav1.Time{Time: w.Time.Now()}
					node.SetDeletionTimestamp(now)
					claim.SetDeletionTimestamp(now)
					w.nodes.dropNode(node)
					ofNodes.OnDelete(node)
					ofClaims.OnDelete(claim)
				})
			}
			ends = append(ends, func() { meters.drop(pool) })
		}
		w.Time.Step(time.Minute)
		for _, n := range w.Series() {
			full += n
		}
		for _, end := range ends {
			end()
		}
		return full
	}
	full := live(0)
	first := w.Series()
	live(1)
	if diff := cmp.Diff(first, w.Series()); diff != "" {
		t.Errorf("series that are left (-after the first time +after the second):\n%s", diff)
	}
	left := 0
	for _, n := range first {
		left += n
	}
	if objects := pools * (1 + nodesPerPool*(2+podsPerNode)); full < objects || left > 100 {
		t.Errorf("%d objects have %d series, and %d are left when they are gone", objects, full, left)
	}
	t.Logf("%d series of %d pods, %d nodes; %d are left", full, pools*nodesPerPool*podsPerNode, pools*nodesPerPool, left)
}
