package problem

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/karpenter-anew/karpenter/api/podrules"
)

// EvictionQueues are the PodDisruptionBudgets that limit the eviction of a node's pods. Whether a node may be drained is decided pod by
// pod; the queues describe what budgets mean for all of its pods together.
//
// Source: disruption specification, weaknesses, the model of budgets.
type EvictionQueues struct {
	byNamespace map[string][]budgetQueue
}

type budgetQueue struct {
	EvictionQueue
	selector       labels.Selector
	ignoresUnready bool
}

// EvictionQueue is a PodDisruptionBudget and the pods of a node that it limits.
type EvictionQueue struct {
	// Budget is the namespace/name of the PodDisruptionBudget.
	Budget string
	// Pods is the number of the node's pods, of which Allowed may be evicted now.
	Pods, Allowed int
	// Never is set when the budget never allows an eviction, even if all pods are healthy.
	Never bool
}

// Rounds returns the minimum number of rounds of evictions, each of which waits until the evicted pods are healthy elsewhere.
func (q EvictionQueue) Rounds() int {
	if q.Pods <= q.Allowed {
		return 1
	}
	return (q.Pods + max(q.Allowed, 1) - 1) / max(q.Allowed, 1)
}

// NeverAllows reports whether a budget requires all of its pods to be healthy, so that none may ever be evicted. It uses the status,
// which covers numbers and percentages.
func NeverAllows(b *policyv1.PodDisruptionBudget) bool {
	return b.Status.ExpectedPods > 0 && b.Status.DesiredHealthy >= b.Status.ExpectedPods
}

// NewEvictionQueues compiles the budgets of a cluster. Those with invalid selectors are left out.
func NewEvictionQueues(list []policyv1.PodDisruptionBudget) EvictionQueues {
	out := EvictionQueues{byNamespace: map[string][]budgetQueue{}}
	for i := range list {
		b := &list[i]
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil {
			continue // podrules reports them
		}
		policy := b.Spec.UnhealthyPodEvictionPolicy
		out.byNamespace[b.Namespace] = append(out.byNamespace[b.Namespace], budgetQueue{
			EvictionQueue: EvictionQueue{
				Budget: b.Namespace + "/" + b.Name, Allowed: int(b.Status.DisruptionsAllowed),
				Never: NeverAllows(b),
			},
			selector: selector, ignoresUnready: policy != nil && *policy == policyv1.AlwaysAllow,
		})
	}
	return out
}

// Of returns the queues of the pods of one node, those with the most rounds first.
func (q EvictionQueues) Of(pods []*corev1.Pod, now time.Time) []EvictionQueue {
	found := map[string]EvictionQueue{}
	for _, pod := range pods {
		if len(q.byNamespace[pod.Namespace]) == 0 || !podrules.Evictable(pod, now) {
			continue
		}
		for _, b := range q.byNamespace[pod.Namespace] {
			if !b.selector.Matches(labels.Set(pod.Labels)) || b.ignoresUnready && unready(pod) {
				continue
			}
			one, known := found[b.Budget]
			if !known {
				one = b.EvictionQueue
			}
			one.Pods++
			found[b.Budget] = one
		}
	}
	out := make([]EvictionQueue, 0, len(found))
	for _, one := range found {
		out = append(out, one)
	}
	slices.SortFunc(out, func(a, b EvictionQueue) int {
		return cmp.Or(cmp.Compare(b.Rounds(), a.Rounds()), strings.Compare(a.Budget, b.Budget))
	})
	return out
}

// unready reports whether the pod's Ready condition is false.
func unready(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionFalse
	})
}
