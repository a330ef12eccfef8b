package nodepool

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/controller/managed"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

// unsupportedAfter is how long a controller for another cloud has to set a condition of its NodePool.
const unsupportedAfter = time.Minute

// UnsupportedClass is the controller nodepool.unsupportedclass. It publishes an event about NodePools whose NodeClass is of a kind that this
// controller does not know, unless another controller in the cluster has set a condition: the NodePool may be that one's.
type UnsupportedClass struct{ deps.Shared }

// NewUnsupportedClass builds the controller.
func NewUnsupportedClass(shared deps.Shared) *UnsupportedClass { return &UnsupportedClass{shared} }

// Register adds the controller to the manager.
func (u *UnsupportedClass) Register(m manager.Manager) error {
	others := predicate.NewPredicateFuncs(func(o client.Object) bool { return !managed.Is(u.Cloud, o) })
	return builder.ControllerManagedBy(m).Named("nodepool.unsupportedclass").For(&v1.NodePool{}, builder.WithPredicates(others)).Complete(u)
}

// Reconcile looks at one NodePool.
func (u *UnsupportedClass) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	pool := &v1.NodePool{}
	if err := u.Client.Get(ctx, request.NamespacedName, pool); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	ref := pool.Spec.Template.Spec.NodeClassRef
	if managed.Is(u.Cloud, pool) || ref == nil || len(pool.Status.Conditions) > 0 || pool.DeletionTimestamp != nil {
		return reconcile.Result{}, nil
	}
	if left := unsupportedAfter - u.Clock.Since(pool.CreationTimestamp.Time); left > 0 {
		return reconcile.Result{RequeueAfter: left}, nil
	}
	var known []string
	for _, class := range u.Cloud.NodeClasses {
		known = append(known, class.GVK.Kind+"."+class.GVK.Group)
	}
	meant, _ := u.Cloud.MeantClass(ref)
	u.Recorder.Publish(observe.UnsupportedNodeClass(pool, ref.Kind+"."+ref.Group, known, meant))
	return reconcile.Result{RequeueAfter: time.Hour}, nil
}
