package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// oneNode brings up a workload on one node and returns the node.
func (w *harness) oneNode(d *appsv1.Deployment, edits ...func(*v1.NodePool)) *corev1.Node {
	w.t.Helper()
	w.create(class(), pool(edits...), d)
	w.awaitRunning(int(*d.Spec.Replicas))
	w.awaitNodes(1)
	node := w.nodes()[0]
	return &node
}

// TestDeletedNodeIsDrainedAndReplaced is what `kubectl delete node` does: the node takes no more pods, its pods are evicted, the
// instance is terminated, and the pods run again on a new node.
func TestDeletedNodeIsDrainedAndReplaced(t *testing.T) {
	t.Attr("covers", "C200 C204 C559")
	t.Parallel()
	w := begin(t)
	w.controller()
	node := w.oneNode(deployment("web", 3, "500m"))
	claim := w.claims()[0]
	before := w.pods()
	w.delete(node)

	w.await("the node is cordoned", patience, func() string {
		if !w.get(node) || slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
			return taint.Key == v1.DisruptedTaintKey && taint.Effect == corev1.TaintEffectNoSchedule
		}) {
			return ""
		}
		return fmt.Sprintf("taints %v", node.Spec.Taints)
	})
	w.await("node and nodeclaim are gone", patience, func() string {
		if w.get(node) || w.get(&claim) {
			return "they are not"
		}
		return ""
	})
	w.awaitRunning(3)
	w.awaitPaired()
	for _, pod := range w.pods() {
		if pod.Spec.NodeName == node.Name {
			t.Errorf("pod %q runs on the node that was deleted", pod.Name)
		}
	}
	for i := range before {
		w.awaitEvent(&before[i], "Evicted", "Evicted pod: Forceful Termination")
	}
}

// TestBudgetHoldsDrain: a disruption budget that allows no evictions keeps the pods in place, and the drain continues as soon as
// it allows one.
func TestBudgetHoldsDrain(t *testing.T) {
	t.Attr("covers", "C233 C234")
	t.Parallel()
	w := begin(t)
	p := w.controller()
	none, one := intstr.FromInt32(0), intstr.FromInt32(1)
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "web"}}
	budget.Spec.MaxUnavailable = &none
	budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	w.create(budget)
	node := w.oneNode(deployment("web", 2, "500m"))
	w.delete(node)

	w.awaitEvent(node, "FailedDraining", "Failed to drain node, ")
	w.awaitMetric(p, `karpenter_pods_eviction_requests_total{code="429"}`)
	w.stays("both pods run on the node", 3*time.Second, func() string { return w.moved(node, 2) })

	change(w, budget, func(b *policyv1.PodDisruptionBudget) { b.Spec.MaxUnavailable = &one })
	w.await("the node is gone", patience, func() string {
		if w.get(node) {
			return fmt.Sprintf("it is not; %s", w.notRunning(2))
		}
		return ""
	})
	w.awaitRunning(2)
	w.awaitPaired()
}

// moved describes how the node does not run this many undisturbed pods; "" if it does.
func (w *harness) moved(node *corev1.Node, pods int) string {
	w.t.Helper()
	if !w.get(node) {
		return "the node is gone"
	}
	there := 0
	for _, pod := range w.pods() {
		if pod.Spec.NodeName == node.Name && pod.DeletionTimestamp == nil {
			there++
		}
	}
	if there != pods {
		return fmt.Sprintf("%d pods are there", there)
	}
	return ""
}

// protected keeps a pod from being evicted.
func protected(template *corev1.PodTemplateSpec) {
	template.Annotations = map[string]string{v1.DoNotDisruptAnnotationKey: "true"}
}

// TestDoNotDisruptHoldsDrain: a protected pod holds the drain for as long as it is protected.
func TestDoNotDisruptHoldsDrain(t *testing.T) {
	t.Attr("covers", "C227 C561")
	t.Parallel()
	w := begin(t)
	w.controller()
	node := w.oneNode(deployment("web", 1, "500m", protected))
	w.delete(node)
	w.awaitEvent(node, "FailedDraining", "1 pods are waiting to be evicted")
	w.stays("the pod runs on the node", 3*time.Second, func() string { return w.moved(node, 1) })

	pod := w.pods()[0]
	change(w, &pod, func(p *corev1.Pod) { delete(p.Annotations, v1.DoNotDisruptAnnotationKey) })
	w.await("the node is gone", patience, func() string {
		if w.get(node) {
			return "it is not"
		}
		return ""
	})
}

// TestGracePeriodForcesDrain: with a terminationGracePeriod neither protection nor budget holds the drain past the deadline, and
// no pod is forced before it.
func TestGracePeriodForcesDrain(t *testing.T) {
	t.Attr("covers", "C243 C244")
	t.Parallel()
	w := begin(t)
	w.controller()
	const grace, own = 8 * time.Second, int64(1)
	node := w.oneNode(deployment("web", 1, "500m", protected, func(template *corev1.PodTemplateSpec) {
		seconds := own
		template.Spec.TerminationGracePeriodSeconds = &seconds
	}), func(p *v1.NodePool) { p.Spec.Template.Spec.TerminationGracePeriod = &metav1.Duration{Duration: grace} })
	pod, claim := w.pods()[0], w.claims()[0]
	w.delete(node)
	w.stays("the pod runs on the node", grace-time.Duration(own)*time.Second-2*time.Second, func() string { return w.moved(node, 1) })

	w.await("the node is gone", patience, func() string {
		if w.get(node) {
			return "it is not"
		}
		return ""
	})
	w.awaitEvent(&pod, "Disrupted", "Deleting the pod to accommodate the terminationTime")
	w.awaitEvent(&claim, "TerminationGracePeriodExpiring", "All pods will be deleted by ")
}

// hooked gives pods a preStop hook of this many seconds, and a grace period.
func hooked(seconds, grace int64) func(*corev1.PodTemplateSpec) {
	return func(template *corev1.PodTemplateSpec) {
		template.Spec.TerminationGracePeriodSeconds = &grace
		template.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: seconds}}}
	}
}

// TestDrainWaitsForHooks: an evicted pod runs its preStop hook to the end, and the node stays until then.
func TestDrainWaitsForHooks(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.controller()
	const hook, grace = 6, 120
	node := w.oneNode(deployment("web", 2, "500m", hooked(hook, grace)))
	before := w.pods()
	deleted := time.Now()
	w.delete(node)
	w.await("the pods are gone, then the node", 2*patience, func() string {
		there := w.get(node)
		for i := range before {
			pod := &before[i]
			switch {
			case !w.get(pod):
				continue
			case !there:
				t.Fatalf("the node is gone, and its pod %q still runs its hook", pod.Name)
			case pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds != 0 && *pod.DeletionGracePeriodSeconds != grace:
				t.Errorf("pod %q was evicted with a grace period of %d s, want %d", pod.Name, *pod.DeletionGracePeriodSeconds, grace)
			}
			return fmt.Sprintf("pod %q is there", pod.Name)
		}
		if there {
			return "the node is there"
		}
		return ""
	})
	if took := time.Since(deleted); took < hook*time.Second {
		t.Errorf("the node went after %s, in less time than the hooks take", took)
	}
	w.awaitRunning(2)
	w.awaitPaired()
}

// TestGracePeriodCutsHooks: a hook that takes longer than the terminationGracePeriod of the node is cut off when that ends.
func TestGracePeriodCutsHooks(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.controller()
	const grace = 8 * time.Second
	node := w.oneNode(deployment("web", 1, "500m", hooked(900, 1800)), func(p *v1.NodePool) {
		p.Spec.Template.Spec.TerminationGracePeriod = &metav1.Duration{Duration: grace}
	})
	pod := w.pods()[0]
	w.delete(node)
	w.await("the pod is killed", patience, func() string {
		if w.get(&pod) && pod.Status.Phase != corev1.PodFailed {
			return fmt.Sprintf("it has until %s", pod.DeletionTimestamp)
		}
		return ""
	})
	w.await("the node is gone", patience, func() string {
		if w.get(node) {
			return "it is there"
		}
		return ""
	})
}
