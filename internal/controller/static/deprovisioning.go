package static

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/cluster"
	"github.com/karpenter-anew/karpenter/internal/controller/managed"
	"github.com/karpenter-anew/karpenter/internal/controller/nodelookup"
	"github.com/karpenter-anew/karpenter/internal/controller/parallel"
	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// deprovisioningName is the name of the controller in logs and metrics.
const deprovisioningName = "static.deprovisioning"

// Deprovisioning is the controller static.deprovisioning. A user requested the removal, so neither budgets nor the readiness
// of the pool delay it; the drain that follows respects pods and their budgets.
type Deprovisioning struct{ Deps }

// NewDeprovisioning builds the controller.
func NewDeprovisioning(d Deps) *Deprovisioning { return &Deprovisioning{Deps: d} }

// Register adds the controller to the manager.
func (d *Deprovisioning) Register(m manager.Manager) error {
	return builder.ControllerManagedBy(m).
		Named(deprovisioningName).
		For(&v1.NodePool{}, builder.WithPredicates(managed.Predicate(d.Cloud), mayNeedFewer())).
		WatchesRawSource(onNodeClaimCountsChange(d.Store)).
		WithOptions(controller.Options{MaxConcurrentReconciles: concurrency}).
		Complete(d)
}

// Reconcile deletes the surplus NodeClaims of one pool. It waits for the cluster state: before, every node looks empty.
func (d *Deprovisioning) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	pool, err := d.pool(ctx, request)
	if pool == nil || err != nil {
		return reconcile.Result{}, err
	}
	if !d.Ready() {
		return requeue.After(unready), nil
	}
	var active []cluster.PoolNodeClaim
	for _, claim := range d.Store.Pools.Claims(pool.Name) {
		if claim.Phase == cluster.Active {
			active = append(active, claim)
		}
	}
	surplus := len(active) - int(*pool.Spec.Replicas)
	if surplus <= 0 {
		return requeue.After(satisfied), nil
	}
	if err := d.remove(ctx, d.choose(ctx, active, surplus)); err != nil {
		return reconcile.Result{}, fmt.Errorf("failed to deprovision nodeclaims, %w", err)
	}
	return requeue.After(satisfied), nil
}

// choose returns the NodeClaims whose removal costs least, at most surplus of them. The pods of their nodes are read from the API server:
// the cache may not show yet that a pod was bound, and a node that looked empty may have a protected pod.
func (d *Deprovisioning) choose(ctx context.Context, claims []cluster.PoolNodeClaim, surplus int) []removalCandidate {
	order, read := byRemovalCost(d.candidates(ctx, d.Client, claims)), map[string]bool{}
	for {
		chosen := order[:min(surplus, len(order))]
		var unread []cluster.PoolNodeClaim
		for _, c := range chosen {
			if c.claim.Node != nil && !read[c.claim.ID] {
				read[c.claim.ID] = true
				unread = append(unread, c.claim)
			}
		}
		if len(unread) == 0 {
			return chosen
		}
		order = slices.DeleteFunc(order, func(c removalCandidate) bool {
			return slices.ContainsFunc(unread, func(u cluster.PoolNodeClaim) bool { return u.ID == c.claim.ID })
		})
		order = byRemovalCost(append(order, d.candidates(ctx, d.Live, unread)...))
	}
}

// candidates are the NodeClaims with the costs of their removal, without those whose pods cannot be listed.
func (d *Deprovisioning) candidates(ctx context.Context, from client.Reader, claims []cluster.PoolNodeClaim) []removalCandidate {
	now := d.Clock.Now()
	found := make([]*removalCandidate, len(claims))
	parallel.Times(len(claims), writers, func(i int) error {
		claim := claims[i]
		var load nodePods
		if claim.Node != nil {
			pods, err := nodelookup.PodsOn(ctx, from, claim.Node.Name)
			if err != nil {
				observe.Log(ctx).Error("cannot list the pods of a node, keeping it", logfield.NodeClaim(claim.Claim.Name), logfield.Error(err))
				return nil
			}
			for i := range pods {
				load.add(&pods[i], d.Translator.Pod(&pods[i]).EvictionCost, now)
			}
		}
		c := rank(claim, load, now)
		found[i] = &c
		return nil
	})
	out := make([]removalCandidate, 0, len(claims))
	for _, c := range found {
		if c != nil {
			out = append(out, *c)
		}
	}
	return out
}

// remove deletes the claims. The store marks them as deleting immediately, before the watch event.
func (d *Deprovisioning) remove(ctx context.Context, claims []removalCandidate) error {
	return errors.Join(parallel.ForEach(claims, writers, func(c removalCandidate) error {
		claim := c.claim.Claim
		err := d.Client.Delete(ctx, claim.DeepCopy(), client.Preconditions{UID: &claim.UID})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("deleting nodeclaim %q: %w", claim.Name, err)
		}
		d.Store.Mark(c.claim.ID)
		d.Books.Disrupted(claim, "surplus", "")
		observe.Log(ctx).Info("deleted nodeclaim, its nodepool has more of them than replicas", logfield.NodeClaim(claim.Name))
		return nil
	})...)
}
