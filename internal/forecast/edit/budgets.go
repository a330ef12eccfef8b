package edit

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/podrules"
	"github.com/karpenter-anew/karpenter/internal/forecast/report"
	"github.com/karpenter-anew/karpenter/internal/simulation"
)

// withBudgets computes the status of the PodDisruptionBudgets that an edit changes, and of those that select pods of a workload that it changes.
// objects are those of the cluster with the edit; edited the objects of the edit and changes what they change, in the same order. given are
// the manifests before they got statuses of the cluster: a status that a manifest has is kept. Pods that a workload gets count as healthy: a forecast
// lets them start. It returns the objects with the new statuses, and notes about them.
func withBudgets(objects, edited, given []client.Object, changes []report.Edit) ([]client.Object, []string) {
	scales, touched := scalesOf(objects), map[simulation.Owner]bool{}
	own := map[string]report.Edit{}
	for i, e := range changes {
		if e.Change == report.Unchanged {
			continue
		}
		switch o := edited[i].(type) {
		case *policyv1.PodDisruptionBudget:
			if before, ok := given[i].(*policyv1.PodDisruptionBudget); ok && before.Status.ExpectedPods == 0 && before.Status.DisruptionsAllowed == 0 {
				own[client.ObjectKeyFromObject(o).String()] = e
			}
		default:
			touched[simulation.Owner{Kind: e.Kind, Namespace: e.Namespace, Name: e.Name}] = true
		}
	}
	out := slices.Clone(objects)
	var notes []string
	for i, o := range out {
		budget, ok := o.(*policyv1.PodDisruptionBudget)
		if !ok {
			continue
		}
		pods := selected(budget, objects)
		_, isOwn := own[client.ObjectKeyFromObject(budget).String()]
		if !isOwn && !slices.ContainsFunc(pods, func(p *corev1.Pod) bool { return touched[simulation.OwnerOf(p)] }) {
			continue
		}
		budget = budget.DeepCopy()
		computeStatus(budget, pods, scales)
		out[i] = budget
		notes = append(notes, fmt.Sprintf("evictions that PodDisruptionBudget \"%s/%s\" allows with the edit: %d, computed from its spec and its pods (healthy: %d, expected: %d)",
			budget.Namespace, budget.Name, budget.Status.DisruptionsAllowed, budget.Status.CurrentHealthy, budget.Status.ExpectedPods))
	}
	return out, notes
}

// selected are the pods of a PodDisruptionBudget that have not ended.
func selected(budget *policyv1.PodDisruptionBudget, objects []client.Object) []*corev1.Pod {
	selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
	if err != nil {
		return nil // podrules reports it
	}
	var out []*corev1.Pod
	for _, o := range objects {
		if pod, ok := o.(*corev1.Pod); ok && pod.Namespace == budget.Namespace && !podrules.Terminal(pod) && selector.Matches(labels.Set(pod.Labels)) {
			out = append(out, pod)
		}
	}
	return out
}

// scalesOf are the replicas of workloads: those of the objects, or for a workload that is not among them the pods that it has.
func scalesOf(objects []client.Object) map[simulation.Owner]int32 {
	out := map[simulation.Owner]int32{}
	for _, o := range objects {
		if pod, ok := o.(*corev1.Pod); ok && !podrules.Terminal(pod) && pod.DeletionTimestamp == nil {
			out[simulation.OwnerOf(pod)]++
		}
	}
	for _, o := range objects {
		kind, replicas := "", (*int32)(nil)
		switch o := o.(type) {
		case *appsv1.Deployment:
			kind, replicas = "Deployment", o.Spec.Replicas
		case *appsv1.StatefulSet:
			kind, replicas = "StatefulSet", o.Spec.Replicas
		case *appsv1.ReplicaSet:
			kind, replicas = "ReplicaSet", o.Spec.Replicas
		case *corev1.ReplicationController:
			kind, replicas = "ReplicationController", o.Spec.Replicas
		default:
			continue
		}
		scale := int32(1)
		if replicas != nil {
			scale = *replicas
		}
		out[simulation.Owner{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName()}] = scale
	}
	return out
}

// computeStatus is what the controller of PodDisruptionBudgets does. A number of pods that have to be available refers to the pods that exist;
// everything else to the replicas of their workloads, and allows no eviction where a pod has none.
//
// Source: the API reference of policy/v1; Kubernetes documentation, "Specifying a Disruption Budget for your Application", arbitrary workloads.
func computeStatus(budget *policyv1.PodDisruptionBudget, pods []*corev1.Pod, scales map[simulation.Owner]int32) {
	healthy, expected, scaled := int32(0), int32(0), true
	byOwner := map[simulation.Owner]int32{}
	for _, pod := range pods {
		owner := simulation.OwnerOf(pod)
		if _, seen := byOwner[owner]; !seen {
			byOwner[owner] = 0
			expected += scales[owner]
		}
		switch owner.Kind {
		case "Pod", "DaemonSet", "Job", "Node": // these have no subresource scale
			scaled = false
		}
		if pod.DeletionTimestamp == nil && (pod.Spec.NodeName == "" || isReady(pod)) {
			byOwner[owner]++
		}
	}
	for owner, n := range byOwner {
		healthy += min(n, scales[owner]) // a workload removes those beyond its replicas
	}
	desired := int32(0)
	switch least, most := budget.Spec.MinAvailable, budget.Spec.MaxUnavailable; {
	case least != nil && least.Type == intstr.Int:
		desired, scaled = least.IntVal, true
	case least != nil:
		desired = portion(least, expected)
	case most != nil:
		desired = max(expected-portion(most, expected), 0)
	}
	s := policyv1.PodDisruptionBudgetStatus{ObservedGeneration: budget.Generation, ExpectedPods: expected, DesiredHealthy: desired, CurrentHealthy: healthy}
	if expected > 0 && scaled {
		s.DisruptionsAllowed = max(healthy-desired, 0)
	}
	budget.Status = s
}

// portion is the number or the share of all, rounded up.
func portion(value *intstr.IntOrString, all int32) int32 {
	n, err := intstr.GetScaledValueFromIntOrPercent(value, int(all), true)
	if err != nil {
		return all // the API server refuses it
	}
	return int32(min(max(n, 0), 1<<30)) //nolint:gosec // it is in the range
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
