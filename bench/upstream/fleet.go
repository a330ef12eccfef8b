package upstream

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/karpenter/pkg/controllers/state" //nolint:depguard // it is what we measure
	"sigs.k8s.io/karpenter/pkg/operator/options"  //nolint:depguard // it is what we measure
)

// Fleet is upstream's state of a cluster.
type Fleet struct{ cluster *state.Cluster }

// NewFleet returns the state of an empty cluster.
func NewFleet() *Fleet {
	onNode := func(o client.Object) []string { return []string{o.(*corev1.Pod).Spec.NodeName} } //nolint:forcetypeassert // it indexes pods
	c := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithIndex(&corev1.Pod{}, "spec.nodeName", onNode).Build()
	return &Fleet{state.NewCluster(clock.RealClock{}, c, noCloud{})}
}

// UpdateNode adds or updates a node.
func (f *Fleet) UpdateNode(ctx context.Context, node *corev1.Node) error {
	if err := f.cluster.UpdateNode(asked(ctx), node); err != nil {
		return fmt.Errorf("updating upstream with node %q: %w", node.Name, err)
	}
	return nil
}

// UpdatePod adds or updates a pod.
func (f *Fleet) UpdatePod(ctx context.Context, pod *corev1.Pod) error {
	if err := f.cluster.UpdatePod(asked(ctx), pod); err != nil {
		return fmt.Errorf("updating upstream with pod %q: %w", pod.Name, err)
	}
	return nil
}

// Snapshot captures the cluster state that each of upstream's passes begins with, and returns its number of nodes.
func (f *Fleet) Snapshot() int { return len(f.cluster.DeepCopyNodes()) }

// asked is a context with settings, which upstream requires.
func asked(ctx context.Context) context.Context { return (&options.Options{}).ToContext(ctx) }
