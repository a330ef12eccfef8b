package nodepool

import (
	"context"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/controller/managed"
	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
	"github.com/karpenter-anew/karpenter/internal/options"
)

const (
	counterPeriod   = 5 * time.Second
	counterUnsynced = time.Second
)

// Usage returns the capacity of the nodes of a NodePool by resource, and their number under "nodes". Nodes that are terminating do not
// count. ok is false until the cluster state is complete.
type Usage interface {
	PoolUsage(pool string) (corev1.ResourceList, bool)
}

// Counter is the controller nodepool.counter: it writes the usage of each NodePool to its status.
type Counter struct {
	deps.Shared
	usage Usage
}

// NewCounter builds the controller.
func NewCounter(shared deps.Shared, usage Usage) *Counter {
	return &Counter{Shared: shared, usage: usage}
}

// Register adds the controller to the manager. It watches the creation of NodePools only, and requeues them itself.
func (c *Counter) Register(m manager.Manager) error {
	created := predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }}
	return builder.ControllerManagedBy(m).
		Named("nodepool.counter").
		For(&v1.NodePool{}, builder.WithPredicates(managed.Predicate(c.Cloud), created)).
		WithOptions(controller.Options{MaxConcurrentReconciles: options.Scale(c.CPUMillis, 10, 1000)}).
		Complete(c)
}

// Reconcile updates the usage of one NodePool.
func (c *Counter) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	pool, err := managedPool(ctx, c.Shared, request)
	if pool == nil || err != nil {
		return reconcile.Result{}, err
	}
	used, synced := c.usage.PoolUsage(pool.Name)
	if !synced {
		return requeue.After(counterUnsynced), nil
	}
	stored := pool.DeepCopy()
	pool.Status.Resources = withZeroes(used)
	nodes := pool.Status.Resources[v1.ResourceNodes]
	pool.Status.Nodes = ptr.To(nodes.Value())
	if result, err := requeue.OnConflict(writeStatus(ctx, c.Client, stored, pool)); err != nil || result != (reconcile.Result{}) {
		return result, err
	}
	return requeue.After(counterPeriod), nil
}

// withZeroes adds a zero for every base resource that is not used.
func withZeroes(used corev1.ResourceList) corev1.ResourceList {
	out := corev1.ResourceList{
		corev1.ResourceCPU: resource.Quantity{}, corev1.ResourceMemory: resource.Quantity{}, corev1.ResourcePods: resource.Quantity{},
		corev1.ResourceEphemeralStorage: resource.Quantity{}, v1.ResourceNodes: resource.Quantity{},
	}
	maps.Copy(out, used)
	return out
}
