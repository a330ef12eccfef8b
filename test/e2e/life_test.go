package e2e

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// stubborn makes a pod run for its whole termination grace period, like one with a long preStop hook.
func stubborn(grace time.Duration) func(*corev1.PodTemplateSpec) {
	return func(template *corev1.PodTemplateSpec) {
		template.Annotations = map[string]string{"local.karpenter-anew.dev/ignore-sigterm": "true"}
		seconds := int64(grace / time.Second)
		template.Spec.TerminationGracePeriodSeconds = &seconds
	}
}

// awaitGone waits until a node is not there any more.
func (w *harness) awaitGone(node *corev1.Node, within time.Duration) {
	w.t.Helper()
	w.await(fmt.Sprintf("node %q is gone", node.Name), within, func() string {
		if w.get(node) {
			return fmt.Sprintf("it was deleted at %v", node.DeletionTimestamp)
		}
		return ""
	})
}

// TestExpiredNodesAreReplaced: an expired node is removed, and its pod runs again on a new one.
func TestExpiredNodesAreReplaced(t *testing.T) {
	t.Attr("covers", "C563")
	t.Parallel()
	w := begin(t)
	p := w.controller()
	node := w.oneNode(deployment("web", 1, "500m"), func(p *v1.NodePool) {
		p.Spec.Template.Spec.ExpireAfter = v1.NewNillableDuration(15 * time.Second)
	})
	w.awaitGone(node, time.Minute)
	w.await("the pod runs on another node", patience, func() string {
		if lost := w.notRunning(1); lost != "" {
			return lost
		}
		if w.pods()[0].Spec.NodeName == node.Name {
			return "it is on the one that is gone"
		}
		return ""
	})
	w.awaitMetric(p, `karpenter_nodeclaims_disrupted_total{capacity_type="spot",consolidation_policy="",nodepool="default",reason="expired",termination_mode="graceful"}`)
}

// TestAStubbornPodGoesAtTheDeadline: the terminationGracePeriod of the node ends a pod that would take ten minutes to stop.
func TestAStubbornPodGoesAtTheDeadline(t *testing.T) {
	t.Attr("covers", "C562")
	t.Parallel()
	w := begin(t)
	w.controller()
	const grace = 6 * time.Second
	node := w.oneNode(deployment("web", 1, "500m", stubborn(10*time.Minute)), func(p *v1.NodePool) {
		p.Spec.Template.Spec.TerminationGracePeriod = &metav1.Duration{Duration: grace}
	})
	pod := w.pods()[0]
	w.delete(node)
	w.awaitGone(node, time.Minute)
	w.awaitEvent(&pod, "Disrupted", "of its 600 terminationGracePeriodSeconds")
	w.awaitRunning(1)
}

// TestPodsGoInOrder: a critical pod runs until the grace period of the last non-critical one is over.
func TestPodsGoInOrder(t *testing.T) {
	t.Attr("covers", "C561")
	t.Parallel()
	w := begin(t)
	w.controller()
	critical := deployment("critical", 1, "500m", func(template *corev1.PodTemplateSpec) {
		template.Spec.PriorityClassName = "system-cluster-critical"
	})
	w.create(class(), pool(), deployment("plain", 1, "500m", stubborn(6*time.Second)), critical)
	w.awaitRunning(2)
	w.awaitNodes(1)
	node := w.nodes()[0]
	var plain, last corev1.Pod
	for _, pod := range w.pods() {
		if pod.Spec.PriorityClassName == "" {
			plain = pod
		} else {
			last = pod
		}
	}
	w.delete(&node)
	w.await("the plain pod is asked to go", patience, func() string {
		if w.get(&plain); plain.DeletionTimestamp == nil {
			return "it is not"
		}
		return ""
	})
	if granted := plain.DeletionGracePeriodSeconds; granted == nil || *granted != 6 {
		t.Errorf("it was granted %v seconds, want its own 6", granted)
	}
	w.await("the plain pod is gone", patience, func() string {
		// The critical one is checked first: it may be evicted immediately after the other is deleted.
		if w.get(&last); last.DeletionTimestamp != nil && w.get(&plain) {
			t.Fatal("the critical pod goes while the plain one is there")
		}
		if w.get(&plain) {
			return "it is not"
		}
		return ""
	})
	w.awaitGone(&node, time.Minute)
	w.awaitRunning(2)
}

// TestADrainGoesOnAfterAKill: the controller is killed during a drain, and the next one continues it.
func TestADrainGoesOnAfterAKill(t *testing.T) {
	t.Parallel()
	w := begin(t)
	first := w.controller()
	node := w.oneNode(deployment("web", 2, "500m", stubborn(4*time.Second)))
	w.delete(node)
	w.await("a pod is asked to go", patience, func() string {
		for _, pod := range w.pods() {
			if pod.DeletionTimestamp != nil && pod.Spec.NodeName == node.Name {
				return ""
			}
		}
		return "none is"
	})
	w.must(first.Kill())
	w.controller()
	w.awaitGone(node, time.Minute)
	w.awaitRunning(2)
	nodes := w.awaitPaired()
	w.stays("nothing is there twice", 3*time.Second, func() string { return w.notPaired(nodes) })
	for _, n := range w.nodes() {
		for _, taint := range n.Spec.Taints {
			t.Errorf("node %q is left with the taint %s", n.Name, taint.Key)
		}
	}
}

// TestBuffersThatComeAndGoLeaveNothing: buffers that are deleted right after their creation leave no node behind.
func TestBuffersThatComeAndGoLeaveNothing(t *testing.T) {
	t.Attr("covers", "C564")
	t.Parallel()
	w := begin(t)
	w.controller("--feature-gates=CapacityBuffer=true")
	p := pool(cores("4"), func(p *v1.NodePool) {
		p.Spec.Disruption.ConsolidateAfter = v1.NewNillableDuration(0)
		p.Spec.Disruption.Budgets = []v1.Budget{{Nodes: "100%"}}
	})
	w.create(class(), p, chunk("chunk", "3"))
	for i := range 5 {
		b := buffer(fmt.Sprint("headroom-", i), "chunk", 2)
		w.create(b)
		if i%2 == 0 {
			w.await("a NodeClaim is created", bufferPeriod, func() string {
				if len(w.claims()) == 0 {
					return "none is"
				}
				return ""
			})
		}
		w.delete(b)
	}
	w.awaitNothing(2 * time.Minute)
}
