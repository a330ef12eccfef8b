package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// explain asks about an object of the cluster.
func (w *world) explain(into any, args ...string) {
	w.t.Helper()
	out, _ := w.tool(0, append([]string{"explain", "-o", "json", "--kubeconfig", w.plane.Kubeconfig}, args...)...)
	w.must(json.Unmarshal([]byte(out), into))
}

// TestExplanationsHold asks about a pod before the controller runs, lets it run, and asks why it leaves the node alone. The
// event is not waited for: the same object hears of another cause after two minutes only.
func TestExplanationsHold(t *testing.T) {
	t.Parallel()
	w := begin(t)
	one := intstr.FromInt32(1)
	guard := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "guard"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &one, Selector: &metav1.LabelSelector{}},
	}
	w.create(class(), pool(cores("4"), budgeted("1")), guard, deployment("web", 1, "1"))
	defer w.delete(guard)
	name := ""
	w.await("the scheduler has found no place for the pod", patience, func() string {
		for _, pod := range w.pods() {
			name = pod.Name
			if slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Reason == corev1.PodReasonUnschedulable }) {
				return ""
			}
		}
		return "it has not spoken"
	})
	var pod struct {
		State string
		Bound struct{ Node string }
		Fate  struct {
			Outcome string
			Launch  struct{ InstanceType string }
		}
	}
	if w.explain(&pod, "pod", name); pod.State != "Pending" || pod.Fate.Outcome != "Launched" {
		t.Fatalf("the pod that waits is explained as %+v", pod)
	}
	w.controller()
	w.awaitLaunched(pod.Fate.Launch.InstanceType)
	w.awaitRunning(1)
	w.awaitNodes(1)
	node := w.nodes()[0]
	if w.explain(&pod, "pod", name); pod.State != "Bound" || pod.Bound.Node != node.Name {
		t.Errorf("the pod that runs on node %s is explained as %+v", node.Name, pod)
	}
	var explained struct {
		Verdicts []struct {
			Reason   string
			Wanted   bool
			Obstacle struct {
				Code, Message string
				Pods          []string
			}
		}
	}
	w.await("the node is kept by the budget of its pod", patience, func() string {
		w.explain(&explained, "node", node.Name)
		for _, v := range explained.Verdicts {
			if v.Reason == "Underutilized" && v.Wanted && v.Obstacle.Code == "BudgetBlocked" && slices.Equal(v.Obstacle.Pods, []string{"default/" + name}) {
				return ""
			}
		}
		return fmt.Sprintf("%+v", explained)
	})
	if text, _ := w.tool(0, "explain", "nodepool", "default", "--kubeconfig", w.plane.Kubeconfig); !strings.Contains(text, "NodePool default has 1 node,") {
		t.Errorf("the pool is explained as\n%s", text)
	}
	w.tool(3, "explain", "node", "nowhere", "--kubeconfig", w.plane.Kubeconfig)
}
