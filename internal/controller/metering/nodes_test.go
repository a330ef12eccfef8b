package metering

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
)

func TestNodesAreShown(t *testing.T) {
	t.Attr("covers", "C530 C531")
	w := newHarness(t)
	node := w.inPool("a")
	foreign := w.Node("b")
	w.nodes.putPod(w.asking("p", "a", "500m", "1Gi")) // before its node is known
	w.nodes.putNode(node)
	w.nodes.putNode(foreign)
	w.nodes.putPod(w.asking("agent", "a", "100m", "1Gi", daemon))
	w.nodes.putPod(w.asking("done", "a", "1", "1Gi", finished))
	w.nodes.putPod(w.asking("elsewhere", "b", "1", "1Gi"))
	m := w.Metrics.Nodes
	by := labels("node_name", "managed", "resource_type")
	expect(t, "allocatable", m.Allocatable, by, "a/true/cpu 1.9", "a/true/memory 3.221225472e+09", "b/false/cpu 1.9", "b/false/memory 3.221225472e+09")
	expect(t, "overhead", m.SystemOverhead, by, "a/true/cpu 0.10000000000000009", "a/true/memory 1.073741824e+09",
		"b/false/cpu 0.10000000000000009", "b/false/memory 1.073741824e+09")
	expect(t, "requests", m.TotalPodRequests, by, "a/true/cpu 0.6", "a/true/memory 2.147483648e+09", "a/true/pods 2",
		"b/false/cpu 1", "b/false/memory 1.073741824e+09", "b/false/pods 1")
	expect(t, "limits", m.TotalPodLimits, by, "a/true/memory 2.147483648e+09", "b/false/memory 1.073741824e+09")
	expect(t, "requests of daemons", m.TotalDaemonRequests, by, "a/true/cpu 0.1", "a/true/memory 1.073741824e+09", "a/true/pods 1")
	expect(t, "limits of daemons", m.TotalDaemonLimits, by, "a/true/memory 1.073741824e+09")
	w.Time.Step(time.Minute)
	expect(t, "age", m.CurrentLifetime, labels("node_name", "nodepool", "zone", "capacity_type", "instance_type", "phase"), "a/pool/zone-1/spot/small/ 60", "b//zone-1/// 60")

	relabelled := node.DeepCopy()
	relabelled.Labels[corev1.LabelTopologyZone] = "zone-2"
	w.nodes.putNode(relabelled)
	w.nodes.dropNode(foreign)
	expect(t, "after a change", m.CurrentLifetime, labels("node_name", "zone"), "a/zone-2 60")
	w.nodes.dropPod(w.Pod("p", "a"))
	expect(t, "a pod is gone", m.TotalPodRequests, by, "a/true/cpu 0.1", "a/true/memory 1.073741824e+09", "a/true/pods 1")
	w.nodes.dropNode(relabelled)
	for _, family := range []struct {
		name string
		got  []string
	}{{"allocatable", shown(t, m.Allocatable, by...)}, {"requests", shown(t, m.TotalPodRequests, by...)}, {"age", shown(t, m.CurrentLifetime, by...)}} {
		if len(family.got) != 0 {
			t.Errorf("%s of a node that is gone: %v", family.name, family.got)
		}
	}
}

func TestPodsLeaveTheirNodes(t *testing.T) {
	w := newHarness(t)
	w.nodes.putNode(w.inPool("a"))
	w.nodes.putNode(w.inPool("b"))
	pod := w.asking("p", "a", "1", "1Gi")
	by := labels("node_name", "resource_type")
	show := func(when string, want ...string) {
		t.Helper()
		expect(t, when, w.Metrics.Nodes.TotalPodLimits, by, want...)
	}
	w.nodes.putPod(pod)
	show("bound", "a/memory 1.073741824e+09")
	namesake := w.asking("p", "b", "1", "2Gi")
	namesake.UID = "another"
	w.nodes.putPod(namesake) // the watch missed the deletion
	show("another of that name", "b/memory 2.147483648e+09")
	w.nodes.dropPod(pod) // late
	show("a late deletion", "b/memory 2.147483648e+09")
	w.nodes.putPod(changed(namesake, failed))
	show("at its end")
	w.nodes.dropPod(namesake)
	if len(w.nodes.pods) != 0 || len(w.nodes.byName) != 2 || len(w.nodes.byName["b"].pods) != 0 {
		t.Errorf("something is kept: %+v", w.nodes)
	}
}

func TestUtilization(t *testing.T) {
	t.Attr("covers", "C532")
	w := newHarness(t)
	expect(t, "without nodes", w.Metrics.Cluster.Utilization, labels("resource_type"))
	gpu := w.Node("b")
	gpu.Status.Allocatable = fakecluster.Resources("cpu", "100m", "memory", "1Gi", "example.com/gpu", "4", "example.com/none", "0")
	w.nodes.putNode(w.inPool("a"))
	w.nodes.putNode(gpu)
	w.nodes.putPod(w.asking("p", "a", "500m", "1Gi"))
	w.nodes.putPod(w.asking("q", "b", "0", "1Gi", func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Requests["example.com/gpu"] = fakecluster.Resources("x", "1")["x"]
	}))
	expect(t, "two nodes", w.Metrics.Cluster.Utilization, labels("resource_type"), "cpu 25", "example.com/gpu 25", "memory 50")
}

// TestNamesThatLookAlikeAreAddedUp: two series with one name would fail the whole scrape.
func TestNamesThatLookAlikeAreAddedUp(t *testing.T) {
	w := newHarness(t)
	node := w.Node("a")
	node.Status.Allocatable = fakecluster.Resources("example.com/a-b", "1", "example.com/a_b", "2")
	w.nodes.putNode(node)
	expect(t, "alike", w.Metrics.Nodes.Allocatable, labels("resource_type"), "example.com/a_b 3")
}

func TestPoolsAreShown(t *testing.T) {
	t.Attr("covers", "C533")
	w := newHarness(t)
	p := newPools(w.deps)
	pool, foreign := fakecluster.Pool(), fakecluster.Pool()
	pool.Spec.Limits = v1.Limits(fakecluster.Resources("cpu", "10", "nodes", "5"))
	pool.Status.Resources = fakecluster.Resources("cpu", "1500m", "memory", "1Gi", "ephemeral-storage", "0")
	foreign.Name, foreign.Spec.Limits = "foreign", pool.Spec.Limits
	foreign.Spec.Template.Spec.NodeClassRef = fakecluster.Unmanaged()
	p.put(pool)
	p.put(foreign)
	by := labels("nodepool", "resource_type")
	expect(t, "limits", w.Metrics.NodePools.Limit, by, "pool/cpu 10", "pool/nodes 5")
	expect(t, "use", w.Metrics.NodePools.Usage, by, "pool/cpu 1.5", "pool/ephemeral_storage 0", "pool/memory 1.073741824e+09")
	edited := pool.DeepCopy()
	delete(edited.Spec.Limits, "nodes")
	p.put(edited)
	expect(t, "one limit less", w.Metrics.NodePools.Limit, by, "pool/cpu 10")
	p.drop(edited)
	expect(t, "gone", w.Metrics.NodePools.Limit, by)
	expect(t, "gone", w.Metrics.NodePools.Usage, by)
}

// TestNothingIsCountedForANodePoolThatIsGone checks that series with the label of a NodePool end with it, its last NodeClaim and its last node.
func TestNothingIsCountedForANodePoolThatIsGone(t *testing.T) {
	w := newHarness(t)
	pools := newPools(w.deps)
	ofClaims := thenOnDelete(newStatuses(w.deps, ofNodeClaims(w.deps)).handler(), pools.dropMember)
	ofNodes := thenOnDelete(newStatuses(w.deps, ofNodes(w.deps)).handler(), pools.dropMember)
	gone, kept := fakecluster.Pool(), fakecluster.Pool()
	gone.Name, kept.Name = "gone", "kept"
	pools.put(gone)
	pools.put(kept)
	count := func() {
		for _, pool := range []string{"gone", "kept"} {
			w.Metrics.NodeClaims.Terminated.WithLabelValues(pool, "spot", "a").Inc()
			w.Metrics.Nodes.TerminationDuration.WithLabelValues(pool).Observe(1)
		}
	}
	end := func(handler toolscache.ResourceEventHandler, o client.Object, pool string) {
		o.GetLabels()[v1.NodePoolLabelKey] = pool
		o.SetFinalizers([]string{v1.TerminationFinalizer})
		o.SetDeletionTimestamp(&metav1.Time{Time: w.Time.Now()})
		handler.OnAdd(o, true)
		handler.OnDelete(o)
	}
	endAll := func(of ...string) {
		for _, pool := range of {
			end(ofNodes, w.RegisteredNode("a"), pool)
			end(ofClaims, w.LaunchedClaim("a"), pool)
		}
	}
	check := func(when string, want int) {
		t.Helper()
		for name, family := range map[string]prometheus.Collector{
			"terminated NodeClaims": w.Metrics.NodeClaims.Terminated, "termination of nodes": w.Metrics.Nodes.TerminationDuration,
			"conditions of NodeClaims": w.Metrics.Status.NodeClaims.TerminationDuration, "conditions of nodes": w.Metrics.Status.Nodes.TerminationDuration,
		} {
			if n := testutil.CollectAndCount(family); n != want {
				t.Errorf("%s: %s: %d series, want %d", when, name, n, want)
			}
		}
	}
	count()
	endAll("gone", "kept")
	check("before", 2)
	pools.drop(gone)
	check("when the pool is gone", 1)
	count()
	endAll("kept", "gone")
	check("when its last NodeClaim is gone", 1)
	count()
	end(ofNodes, w.RegisteredNode("a"), "gone")
	check("when its last node is gone", 1)
}
