package e2e

import (
	"fmt"
	"testing"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// sized gives a pool a fixed number of nodes.
func sized(replicas int64) func(*v1.NodePool) {
	return func(p *v1.NodePool) { p.Spec.Replicas = &replicas }
}

// resize changes the number of nodes of a static pool by its scale, as kubectl scale does.
func (w *harness) resize(p *v1.NodePool, replicas int32) {
	w.t.Helper()
	w.await("the pool can be scaled", patience, func() string {
		scale := &autoscalingv1.Scale{}
		err := w.client.SubResource("scale").Get(w.ctx, p, scale)
		if err == nil {
			scale.Spec.Replicas = replicas
			err = w.client.SubResource("scale").Update(w.ctx, p, client.WithSubResourceBody(scale))
		}
		if err != nil {
			return err.Error()
		}
		return ""
	})
}

// TestStaticPool: five nodes without any pod, pods that use them, a deleted node that is replaced, and back to the two
// that are in use.
func TestStaticPool(t *testing.T) {
	t.Parallel()
	w := begin(t)
	first := w.controller("--feature-gates=StaticCapacity=true")
	p := pool(cores("4"), sized(5))
	w.create(class(), p)
	w.awaitNodes(5)
	w.awaitNumber(p, 5)

	// kube-scheduler binds the pods to the nodes, one each, and no more nodes are launched.
	web := deployment("web", 2, "3")
	w.create(web)
	w.awaitRunning(2)
	used := map[string]bool{}
	for _, pod := range w.pods() {
		used[pod.Spec.NodeName] = true
	}

	// A deleted node is replaced, also by another controller.
	w.must(first.Kill())
	w.controller("--feature-gates=StaticCapacity=true")
	gone := w.unused(used)
	w.delete(gone)
	w.await("the deleted node is replaced", time.Minute, func() string {
		if node := (&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: gone.Name}}); w.get(node) {
			return "it is still there"
		}
		return w.notPaired(5)
	})

	// Unused nodes are deleted first, at once: no budget applies.
	w.resize(p, 2)
	w.await("two nodes are left", time.Minute, func() string { return w.notPaired(2) })
	for _, node := range w.nodes() {
		if !used[node.Name] {
			t.Errorf("unused node %q is left; used are %v", node.Name, used)
		}
	}
	w.awaitNumber(p, 2)
	w.stays("two nodes are left and both pods run", 3*time.Second, func() string {
		if lost := w.notRunning(2); lost != "" {
			return lost
		}
		return w.notPaired(2)
	})

	w.delete(p)
	w.await("the nodes go with their pool", time.Minute, func() string {
		if n := len(w.nodes()); n > 0 {
			return fmt.Sprintf("%d nodes", n)
		}
		return ""
	})
}

// TestStaticPoolWithoutTheGate: a pool with replicas can be created and is ignored.
func TestStaticPoolWithoutTheGate(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.controller()
	w.create(class(), pool(sized(2)), deployment("web", 1, "500m"))
	w.stays("no NodeClaim is created", 5*time.Second, func() string {
		if n := len(w.claims()); n > 0 {
			return fmt.Sprintf("%d nodeclaims", n)
		}
		return ""
	})
}

// unused is a node that is not among these.
func (w *harness) unused(used map[string]bool) *corev1.Node {
	w.t.Helper()
	nodes := w.nodes()
	for i := range nodes {
		if !used[nodes[i].Name] {
			return &nodes[i]
		}
	}
	w.t.Fatal("every node is in use")
	return nil
}

// awaitNumber waits until the scale of a pool is this many nodes.
func (w *harness) awaitNumber(p *v1.NodePool, nodes int64) {
	w.t.Helper()
	w.await(fmt.Sprintf("the status says %d nodes", nodes), patience, func() string {
		if !w.get(p) || p.Status.Nodes == nil || *p.Status.Nodes != nodes {
			return fmt.Sprintf("%v", p.Status.Nodes)
		}
		return ""
	})
}
