package e2e

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/autoscaling/v1beta1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// bufferPeriod is how long it may take until the capacity of a buffer is replaced by a node that is ready.
const bufferPeriod = 75 * time.Second

// chunk is a PodTemplate of pods that request this much CPU.
func chunk(name, cpu string) *corev1.PodTemplate {
	return &corev1.PodTemplate{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name},
		Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "app", Image: "registry.k8s.io/pause:3.10",
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}},
		}}}},
	}
}

// buffer reserves capacity for this many pods of a PodTemplate.
func buffer(name, template string, replicas int32) *v1beta1.CapacityBuffer {
	b := &v1beta1.CapacityBuffer{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name}}
	b.Spec.PodTemplateRef, b.Spec.Replicas = &v1beta1.LocalObjectRef{Name: template}, &replicas
	return b
}

// awaitFits waits until the status of a buffer says that all its virtual pods fit existing nodes.
func (w *harness) awaitFits(b *v1beta1.CapacityBuffer, within time.Duration) {
	w.t.Helper()
	w.await(fmt.Sprintf("the capacity of buffer %q is there", b.Name), within, func() string {
		if !w.get(b) {
			return "the buffer is gone"
		}
		if got := conditionText(b.Status.Conditions, v1beta1.ConditionTypeProvisioning); got != "True/FitsExistingCapacity" {
			return got
		}
		return ""
	})
}

func conditionText(list []metav1.Condition, conditionType string) string {
	for _, c := range list {
		if c.Type == conditionType {
			return string(c.Status) + "/" + c.Reason
		}
	}
	return "there is no condition " + conditionType
}

// TestCapacityBuffer: nodes are launched for a buffer although no pod exists, and stay although they are empty; a new pod
// runs at once on the reserved capacity, which is replaced; the nodes are deleted with the buffer.
func TestCapacityBuffer(t *testing.T) {
	t.Parallel()
	const gate = "--feature-gates=CapacityBuffer=true"
	w := begin(t)
	first := w.controller(gate)
	p := pool(cores("4"), func(p *v1.NodePool) {
		p.Spec.Disruption.ConsolidateAfter = v1.NewNillableDuration(0)
		p.Spec.Disruption.Budgets = []v1.Budget{{Nodes: "100%"}}
	})
	b := buffer("headroom", "chunk", 2)
	w.create(class(), p, chunk("chunk", "3"), b)
	w.awaitNodes(2)
	w.awaitFits(b, bufferPeriod)
	if b.Status.Replicas == nil || *b.Status.Replicas != 2 || conditionText(b.Status.Conditions, v1beta1.ConditionTypeReadyForProvisioning) != "True/Resolved" {
		t.Errorf("the status is %+v", b.Status)
	}
	if n := len(w.pods()); n > 0 {
		t.Errorf("there are %d pods; virtual pods must not exist", n)
	}

	// Empty nodes are deleted after 15 seconds; these remain, also under a new controller.
	w.must(first.Kill())
	w.controller(gate)
	w.stays("both nodes stay", 25*time.Second, func() string { return w.notPaired(2) })

	// A pod is placed without waiting for a node. Then there is capacity for one only, and a node is launched.
	web := deployment("web", 1, "3")
	w.create(web)
	w.await("the pod runs on a node that was there", 10*time.Second, func() string {
		if lost := w.notRunning(1); lost != "" {
			return lost
		}
		return w.notPaired(2)
	})
	w.await("the capacity is replaced", bufferPeriod, func() string { return w.notPaired(3) })
	w.awaitFits(b, bufferPeriod)

	// The pod is deleted: one node is no longer needed. Then the buffer is deleted, and all nodes are.
	w.scale(web, 0)
	w.await("the capacity is two nodes again", bufferPeriod, func() string { return w.notPaired(2) })
	w.stays("both nodes stay", 3*time.Second, func() string { return w.notPaired(2) })
	w.delete(b)
	w.awaitNothing(time.Minute)
}
