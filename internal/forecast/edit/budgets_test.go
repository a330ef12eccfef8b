package edit

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/internal/forecast/report"
)

// podOf is a ready pod of a workload; of none if kind is empty.
func podOf(kind, name string, i int) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprintf("%s-%d", name, i), Labels: map[string]string{"app": name}},
		Spec:       corev1.PodSpec{NodeName: "node"},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
	if kind != "" {
		p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: name, Controller: new(true)}}
	}
	return p
}

func budgetOf(app string, change func(*policyv1.PodDisruptionBudgetSpec)) *policyv1.PodDisruptionBudget {
	b := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: app},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}},
	}
	change(&b.Spec)
	return b
}

func least(v intstr.IntOrString) func(*policyv1.PodDisruptionBudgetSpec) {
	return func(s *policyv1.PodDisruptionBudgetSpec) { s.MinAvailable = &v }
}

func most(v intstr.IntOrString) func(*policyv1.PodDisruptionBudgetSpec) {
	return func(s *policyv1.PodDisruptionBudgetSpec) { s.MaxUnavailable = &v }
}

// TestEvictionsThatEditedBudgetsAllow: five pods, of which one is not ready.
func TestEvictionsThatEditedBudgetsAllow(t *testing.T) {
	for _, tt := range []struct {
		name, kind string
		spec       func(*policyv1.PodDisruptionBudgetSpec)
		want       int32
	}{
		{"a number that has to be available", "StatefulSet", least(intstr.FromInt32(2)), 2},
		{"a number that has to be available, of pods without a workload", "", least(intstr.FromInt32(2)), 2},
		{"more than there are", "StatefulSet", least(intstr.FromInt32(9)), 0},
		{"a share that has to be available", "StatefulSet", least(intstr.FromString("50%")), 1},
		{"a number that may be unavailable", "StatefulSet", most(intstr.FromInt32(3)), 2},
		{"a share that may be unavailable", "StatefulSet", most(intstr.FromString("50%")), 2},
		{"none may be unavailable", "StatefulSet", most(intstr.FromInt32(0)), 0},
		{"a number that may be unavailable, of pods without replicas", "DaemonSet", most(intstr.FromInt32(3)), 0},
		{"a share that may be unavailable, of pods without a workload", "", most(intstr.FromString("50%")), 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			budget := budgetOf("db", tt.spec)
			objects := []client.Object{budget}
			for i := range 5 {
				objects = append(objects, podOf(tt.kind, "db", i))
			}
			objects[5].(*corev1.Pod).Status.Conditions = nil
			edited := []client.Object{budget}
			changes := []report.Edit{{Kind: "PodDisruptionBudget", Namespace: "shop", Name: "db", Change: report.Created}}
			out, notes := withBudgets(objects, edited, edited, changes)
			if got := out[0].(*policyv1.PodDisruptionBudget).Status.DisruptionsAllowed; got != tt.want || len(notes) != 1 {
				t.Errorf("allows %d evictions, want %d; notes %q", got, tt.want, notes)
			}
		})
	}
}

// TestBudgetsOfEditedWorkloads: a StatefulSet gets other replicas, and the budget of another one stays as it is.
func TestBudgetsOfEditedWorkloads(t *testing.T) {
	for _, tt := range []struct{ replicas, want int32 }{{2, 1}, {3, 2}, {6, 3}} { // half of three is rounded up
		set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"}, Spec: appsv1.StatefulSetSpec{Replicas: &tt.replicas}}
		other := budgetOf("web", most(intstr.FromInt32(1)))
		other.Status.DisruptionsAllowed = 7
		objects := []client.Object{budgetOf("db", most(intstr.FromString("50%"))), other, set, podOf("StatefulSet", "web", 0)}
		for i := range max(3, tt.replicas) {
			pod := podOf("StatefulSet", "db", int(i))
			if i >= 3 { // what the edit adds waits
				pod.Spec.NodeName, pod.Status = "", corev1.PodStatus{Phase: corev1.PodPending}
			}
			objects = append(objects, pod)
		}
		edited := []client.Object{set}
		out, _ := withBudgets(objects, edited, edited, []report.Edit{{Kind: "StatefulSet", Namespace: "shop", Name: "db", Change: report.Applied}})
		if got := out[0].(*policyv1.PodDisruptionBudget).Status.DisruptionsAllowed; got != tt.want {
			t.Errorf("with %d replicas, the budget allows %d evictions, want %d", tt.replicas, got, tt.want)
		}
		if got := out[1].(*policyv1.PodDisruptionBudget).Status.DisruptionsAllowed; got != 7 {
			t.Errorf("the budget of the other workload allows %d evictions, want 7", got)
		}
	}
}
