package problem

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// podNodeIndex is the index of pods by node that the cache of a ClientReader needs.
const podNodeIndex = "spec.nodeName"

// ClientReader reads from a cluster, by way of a cache with the index podNodeIndex.
type ClientReader struct{ Client client.Reader }

// NodePools implements Reader.
func (r ClientReader) NodePools(ctx context.Context) ([]*v1.NodePool, error) {
	var list v1.NodePoolList
	err := r.Client.List(ctx, &list, client.UnsafeDisableDeepCopy)
	return pointers(list.Items), err
}

// PodsOn implements Reader.
func (r ClientReader) PodsOn(ctx context.Context, node string) ([]*corev1.Pod, error) {
	var list corev1.PodList
	err := r.Client.List(ctx, &list, client.MatchingFields{podNodeIndex: node}, client.UnsafeDisableDeepCopy)
	return pointers(list.Items), err
}

// DisruptionBudgets implements Reader.
func (r ClientReader) DisruptionBudgets(ctx context.Context) ([]policyv1.PodDisruptionBudget, error) {
	var list policyv1.PodDisruptionBudgetList
	err := r.Client.List(ctx, &list, client.UnsafeDisableDeepCopy)
	return list.Items, err
}

func pointers[T any](items []T) []*T {
	out := make([]*T, len(items))
	for i := range items {
		out[i] = &items[i]
	}
	return out
}
