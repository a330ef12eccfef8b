package nodeclaim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/controller/managed"
	"github.com/karpenter-anew/karpenter/internal/controller/nodelookup"
	"github.com/karpenter-anew/karpenter/internal/controller/parallel"
	"github.com/karpenter-anew/karpenter/internal/controller/ratelimit"
	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
	"github.com/karpenter-anew/karpenter/internal/controller/singleton"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

const (
	garbagePeriod  = 2 * time.Minute
	garbageWorkers = 20
)

// Garbage is the controller nodeclaim.garbagecollection: it deletes registered NodeClaims whose instance is gone. The registration
// timeout deletes the others.
type Garbage struct {
	deps.Shared
}

// NewGarbage builds the controller.
func NewGarbage(shared deps.Shared) *Garbage { return &Garbage{Shared: shared} }

// Register adds the controller to the manager.
func (g *Garbage) Register(m manager.Manager) error {
	return builder.ControllerManagedBy(m).
		Named("nodeclaim.garbagecollection").
		WatchesRawSource(singleton.Source()).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: 1,
			RateLimiter:             ratelimit.New[reconcile.Request](time.Second, garbagePeriod, 10, 100),
		}).
		Complete(g)
}

// Reconcile runs one pass over all NodeClaims. It lists them before the instances, so that the list of instances includes those of all
// NodeClaims listed.
func (g *Garbage) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	ctx = observe.WithController(ctx, "nodeclaim.garbagecollection")
	var claims v1.NodeClaimList
	if err := g.Client.List(ctx, &claims); err != nil {
		return reconcile.Result{}, fmt.Errorf("listing nodeclaims: %w", err)
	}
	instances, err := g.Cloud.Provider.List(ctx)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("listing instances: %w", err)
	}
	var candidates []*v1.NodeClaim
	for i := range claims.Items {
		if managed.Is(g.Cloud, &claims.Items[i]) {
			candidates = append(candidates, &claims.Items[i])
		}
	}
	suspects := abandoned(candidates, instances)
	errs := parallel.ForEach(suspects, garbageWorkers, func(claim *v1.NodeClaim) error { return g.collect(ctx, claim) })
	if err := errors.Join(errs...); err != nil {
		return reconcile.Result{}, err
	}
	return requeue.After(garbagePeriod), nil
}

// abandoned returns the registered NodeClaims whose instance the provider does not list. An instance that is terminating counts as
// gone.
func abandoned(claims, instances []*v1.NodeClaim) []*v1.NodeClaim {
	alive := map[string]bool{}
	for _, instance := range instances {
		if instance.DeletionTimestamp == nil {
			alive[instance.Status.ProviderID] = true
		}
	}
	var out []*v1.NodeClaim
	for _, claim := range claims {
		registered := condition.Status(claim, v1.ConditionTypeRegistered) == "True"
		if registered && claim.DeletionTimestamp == nil && !alive[claim.Status.ProviderID] {
			out = append(out, claim)
		}
	}
	return out
}

// collect deletes one NodeClaim, unless its Node is ready: a running kubelet overrides the list of the provider. A NodeClaim whose
// Node cannot be read is kept until the next pass.
func (g *Garbage) collect(ctx context.Context, claim *v1.NodeClaim) error {
	node, err := nodelookup.NodeOf(ctx, g.Client, claim)
	switch {
	case errors.Is(err, nodelookup.NotFound), errors.Is(err, nodelookup.Duplicate):
	case err != nil:
		return err
	case nodelookup.Ready(node):
		return nil
	}
	pods, err := nodelookup.CountReschedulablePods(ctx, g.Client, claim)
	if err != nil {
		return err
	}
	if err := g.Client.Delete(ctx, claim, client.Preconditions{UID: &claim.UID}); err != nil {
		if _, err := requeue.OnConflict(err); err != nil {
			return fmt.Errorf("deleting nodeclaim %q without instance: %w", claim.Name, err)
		}
		return nil
	}
	observe.Log(ctx).Info("garbage collecting nodeclaim without instance", logfield.NodeClaim(claim.Name), logfield.ProviderID(claim.Status.ProviderID))
	g.CountDisrupted(claim, "garbage_collected")
	g.Metrics.CountDisruptedPods(claim, "garbage_collected", pods)
	return nil
}
