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

// PDBLimits are the PodDisruptionBudgets that limit the eviction of a node's pods. Whether a node may be drained is decided pod by
// pod; the limits are what PodDisruptionBudgets mean for all of its pods together.
//
// Source: disruption specification, weaknesses, the model of budgets.
type PDBLimits struct {
	byNamespace map[string][]selectedLimit
}

type selectedLimit struct {
	PDBLimit
	selector       labels.Selector
	ignoresUnready bool
}

// PDBLimit is a PodDisruptionBudget and the pods of a node that it limits.
type PDBLimit struct {
	// PDB is the namespace/name of the PodDisruptionBudget.
	PDB string
	// Pods is the number of the node's pods, of which Allowed may be evicted now.
	Pods, Allowed int
	// Never is set when the budget never allows an eviction, even if all pods are healthy.
	Never bool
}

// Rounds returns the minimum number of rounds of evictions, each of which waits until the evicted pods are healthy elsewhere.
func (l PDBLimit) Rounds() int {
	if l.Pods <= l.Allowed {
		return 1
	}
	return (l.Pods + max(l.Allowed, 1) - 1) / max(l.Allowed, 1)
}

// NeverAllows reports whether a budget requires all of its pods to be healthy, so that none may ever be evicted. It uses the status,
// which covers numbers and percentages.
func NeverAllows(b *policyv1.PodDisruptionBudget) bool {
	return b.Status.ExpectedPods > 0 && b.Status.DesiredHealthy >= b.Status.ExpectedPods
}

// NewPDBLimits compiles the PodDisruptionBudgets of a cluster. Those with invalid selectors are left out.
func NewPDBLimits(list []policyv1.PodDisruptionBudget) PDBLimits {
	out := PDBLimits{byNamespace: map[string][]selectedLimit{}}
	for i := range list {
		b := &list[i]
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil {
			continue // podrules reports them
		}
		policy := b.Spec.UnhealthyPodEvictionPolicy
		out.byNamespace[b.Namespace] = append(out.byNamespace[b.Namespace], selectedLimit{
			PDBLimit: PDBLimit{
				PDB: b.Namespace + "/" + b.Name, Allowed: int(b.Status.DisruptionsAllowed),
				Never: NeverAllows(b),
			},
			selector: selector, ignoresUnready: policy != nil && *policy == policyv1.AlwaysAllow,
		})
	}
	return out
}

// Of returns the limits of the pods of one node, those with the most rounds first.
func (l PDBLimits) Of(pods []*corev1.Pod, now time.Time) []PDBLimit {
	found := map[string]PDBLimit{}
	for _, pod := range pods {
		if len(l.byNamespace[pod.Namespace]) == 0 || !podrules.Evictable(pod, now) {
			continue
		}
		for _, b := range l.byNamespace[pod.Namespace] {
			if !b.selector.Matches(labels.Set(pod.Labels)) || b.ignoresUnready && unready(pod) {
				continue
			}
			one, known := found[b.PDB]
			if !known {
				one = b.PDBLimit
			}
			one.Pods++
			found[b.PDB] = one
		}
	}
	out := make([]PDBLimit, 0, len(found))
	for _, one := range found {
		out = append(out, one)
	}
	slices.SortFunc(out, func(a, b PDBLimit) int {
		return cmp.Or(cmp.Compare(b.Rounds(), a.Rounds()), strings.Compare(a.PDB, b.PDB))
	})
	return out
}

// unready reports whether the pod's Ready condition is false.
func unready(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionFalse
	})
}
