package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// explain asks about an object of the cluster.
func (w *harness) explain(into any, args ...string) {
	w.t.Helper()
	out, _ := w.tool(0, append([]string{"explain", "-o", "json", "--kubeconfig", w.plane.Kubeconfig}, args...)...)
	w.must(json.Unmarshal([]byte(out), into))
}

// TestExplanationsHold explains a pod before the controller runs, starts it, and explains why it does not disrupt the node. The test does
// not wait for the event: events about the same object come every two minutes only.
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
			if v.Reason == "Underutilized" && v.Wanted && v.Obstacle.Code == "PDBBlocked" && slices.Equal(v.Obstacle.Pods, []string{"default/" + name}) {
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

// explained is what explain prints about a node for one reason.
type explained struct {
	Reason   string
	Wanted   bool
	Obstacle struct {
		Code, Detail, Help        string
		Pods                      []string
		PodDisruptionBudgets      []string
		PaidPerHour, LeastPerHour float64
		Until                     *time.Time
	}
}

// awaitBlocked waits until a node is wanted for a reason and kept by an obstacle, and returns that.
func (w *harness) awaitBlocked(node, reason, code string) explained {
	w.t.Helper()
	var found explained
	w.await(fmt.Sprintf("the node is not %s because of %s", reason, code), patience, func() string {
		var explained struct{ Verdicts []explained }
		w.explain(&explained, "node", node)
		for _, v := range explained.Verdicts {
			if found = v; v.Reason == reason && v.Wanted && v.Obstacle.Code == code {
				return ""
			}
		}
		return fmt.Sprintf("%+v", explained)
	})
	if found.Obstacle.Help == "" {
		w.t.Errorf("nothing would change %+v", found)
	}
	return found
}

// TestEachKindOfBlockIsExplained: what keeps a node of a live cluster is, one after the other, the annotation of a pod, the budget of a pod,
// the price of what could replace it, and the budget of its pool. Each comes with its remedy.
func TestEachKindOfBlockIsExplained(t *testing.T) {
	t.Parallel()
	w := begin(t)
	onDemand := func(p *v1.NodePool) {
		p.Spec.Template.Spec.Requirements = append(p.Spec.Template.Spec.Requirements, in(v1.CapacityTypeLabelKey, v1.CapacityTypeOnDemand))
	}
	one := intstr.FromInt32(1)
	guard := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "guard"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &one, Selector: &metav1.LabelSelector{}},
	}
	web := deployment("web", 1, "1", func(template *corev1.PodTemplateSpec) {
		template.Annotations = map[string]string{v1.DoNotDisruptAnnotationKey: "1h"}
	})
	w.create(class(), pool(cores("4"), budgeted("1"), onDemand), guard, web)
	w.controller()
	w.awaitRunning(1)
	w.awaitNodes(1)
	node, pod := w.nodes()[0].Name, w.pods()[0]

	blocked := w.awaitBlocked(node, "Underutilized", "PodProtected")
	if !slices.Equal(blocked.Obstacle.Pods, []string{"default/" + pod.Name}) || blocked.Obstacle.Until == nil || time.Until(*blocked.Obstacle.Until) > time.Hour {
		t.Errorf("the pod and its hour are explained as %+v", blocked)
	}
	change(w, &pod, func(p *corev1.Pod) { delete(p.Annotations, v1.DoNotDisruptAnnotationKey) })
	blocked = w.awaitBlocked(node, "Underutilized", "PDBBlocked")
	if !slices.Equal(blocked.Obstacle.PodDisruptionBudgets, []string{"default/guard"}) || !strings.Contains(blocked.Obstacle.Detail, "none may ever go") {
		t.Errorf("the budget of the pod is explained as %+v", blocked)
	}
	w.delete(guard)
	blocked = w.awaitBlocked(node, "Underutilized", "NotCheaper")
	if paid, least := blocked.Obstacle.PaidPerHour, blocked.Obstacle.LeastPerHour; paid <= 0 || least < paid {
		t.Errorf("the price is explained as %+v", blocked)
	}
	change(w, pool(), func(p *v1.NodePool) { p.Spec.Disruption.Budgets = []v1.Budget{{Nodes: "0"}} })
	w.scale(web, 0)
	blocked = w.awaitBlocked(node, "Empty", "NodePoolBudgetExhausted")
	if want := "0 allowed at a time, 0 disrupting; the tightest budget is 0: 0 at a time"; blocked.Obstacle.Detail != want {
		t.Errorf("the budget of the pool is explained as %q, want %q", blocked.Obstacle.Detail, want)
	}
}
