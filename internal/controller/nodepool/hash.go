package nodepool

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/controller/managed"
	"github.com/karpenter-anew/karpenter/internal/controller/nodelookup"
	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
	"github.com/karpenter-anew/karpenter/internal/options"
)

// Hash is the controller nodepool.hash: it annotates NodePools with the hash of their template. NodeClaims copy it at creation, and a
// difference means drift.
type Hash struct{ deps.Shared }

// NewHash builds the controller.
func NewHash(shared deps.Shared) *Hash { return &Hash{shared} }

// Register adds the controller to the manager.
func (h *Hash) Register(m manager.Manager) error {
	return builder.ControllerManagedBy(m).
		Named("nodepool.hash").
		For(&v1.NodePool{}, builder.WithPredicates(managed.Predicate(h.Cloud))).
		WithOptions(controller.Options{MaxConcurrentReconciles: options.Scale(h.CPUMillis, 10, 1000)}).
		Complete(h)
}

// Reconcile annotates one NodePool. When the hash version has changed, its NodeClaims are migrated first: the version of the NodePool
// records that all of them are.
func (h *Hash) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	pool, err := managedPool(ctx, h.Shared, request)
	if pool == nil || err != nil {
		return reconcile.Result{}, err
	}
	hash := pool.Hash()
	if pool.Annotations[v1.NodePoolHashVersionAnnotationKey] != v1.NodePoolHashVersion {
		if err := h.migrate(ctx, pool.Name, hash); err != nil {
			return reconcile.Result{}, err
		}
	}
	stored := pool.DeepCopy()
	if !annotate(pool, map[string]string{
		v1.NodePoolHashAnnotationKey:        hash,
		v1.NodePoolHashVersionAnnotationKey: v1.NodePoolHashVersion,
	}) {
		return reconcile.Result{}, nil
	}
	return requeue.OnConflict(h.Client.Patch(ctx, pool, client.MergeFrom(stored)))
}

// migrate moves the NodeClaims of the NodePool to the current hash version. A drifted NodeClaim keeps its hash, and so stays drifted;
// the others get the hash of the NodePool.
func (h *Hash) migrate(ctx context.Context, pool, hash string) error {
	var claims v1.NodeClaimList
	if err := h.Client.List(ctx, &claims, client.MatchingFields{nodelookup.ClaimPool: pool}); err != nil {
		return fmt.Errorf("listing nodeclaims of nodepool %q: %w", pool, err)
	}
	var errs []error
	for i := range claims.Items {
		claim := &claims.Items[i]
		if !managed.Is(h.Cloud, claim) || claim.Annotations[v1.NodePoolHashVersionAnnotationKey] == v1.NodePoolHashVersion {
			continue
		}
		stored := claim.DeepCopy()
		values := map[string]string{v1.NodePoolHashVersionAnnotationKey: v1.NodePoolHashVersion}
		if meta.FindStatusCondition(claim.Status.Conditions, v1.ConditionTypeDrifted) == nil {
			values[v1.NodePoolHashAnnotationKey] = hash
		}
		annotate(claim, values)
		if err := h.Client.Patch(ctx, claim, client.MergeFrom(stored)); client.IgnoreNotFound(err) != nil {
			errs = append(errs, fmt.Errorf("moving nodeclaim %q to hash version %s: %w", claim.Name, v1.NodePoolHashVersion, err))
		}
	}
	return errors.Join(errs...)
}

// annotate sets annotations and reports whether any changed.
func annotate(obj client.Object, values map[string]string) bool {
	annotations, changed := obj.GetAnnotations(), false
	if annotations == nil {
		annotations = map[string]string{}
	}
	for key, value := range values {
		if have, ok := annotations[key]; !ok || have != value {
			annotations[key] = value
			changed = true
		}
	}
	obj.SetAnnotations(annotations)
	return changed
}
