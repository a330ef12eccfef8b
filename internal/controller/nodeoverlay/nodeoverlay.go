// Package nodeoverlay validates NodeOverlays, sets their conditions and applies the valid ones.
//
// All NodeOverlays are evaluated together, against the instance types of every NodePool, because NodeOverlays can conflict. So there is
// one request and one worker.
//
// Source: scheduling specification, NodeOverlay.
package nodeoverlay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/api/v1alpha1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/controller/managed"
	"github.com/karpenter-anew/karpenter/internal/controller/ratelimit"
	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
	"github.com/karpenter-anew/karpenter/internal/overlay"
)

const (
	// name is the controller's name in logs and metrics.
	name = "nodeoverlay.controller"
	// refresh is the time between two evaluations when nothing changes that the controller watches: new instance types of the cloud may
	// make NodeOverlays conflict.
	refresh = 6 * time.Hour
)

// Controller is the controller nodeoverlay.controller.
type Controller struct {
	deps.Shared
	store *overlay.Store
}

// New builds the controller. The cloud of shared lists instance types without NodeOverlays; the result goes to store.
func New(shared deps.Shared, store *overlay.Store) *Controller { return &Controller{shared, store} }

// Decorate returns the cloud of shared with NodeOverlays applied, for use by all other controllers, and the controller that
// validates them against the cloud without overlays.
func Decorate(shared deps.Shared) (cloud.Cloud, *Controller) {
	corrections := &overlay.Store{}
	corrected := shared.Cloud
	corrected.Provider = overlay.Decorate(shared.Cloud.Provider, corrections)
	if corrected.UseCorrection != nil {
		corrected.UseCorrection(corrections.Correct)
	}
	return corrected, New(shared, corrections)
}

// Register adds the controller to the manager. Every change but those of status evaluates all NodeOverlays.
func (c *Controller) Register(m manager.Manager) error {
	everything := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{{}}
	})
	specs := builder.WithPredicates(predicate.GenerationChangedPredicate{})
	b := builder.ControllerManagedBy(m).
		Named(name).
		Watches(&v1alpha1.NodeOverlay{}, everything, specs).
		Watches(&v1.NodePool{}, everything, specs).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: 1,
			RateLimiter:             ratelimit.New[reconcile.Request](100*time.Millisecond, time.Minute, 10, 100),
		})
	for _, class := range c.Cloud.NodeClasses {
		b = b.Watches(class.New(), everything, specs)
	}
	return b.Complete(c)
}

// Reconcile evaluates all NodeOverlays. It writes the conditions before it applies the result, so that no NodeOverlay is applied whose
// condition does not say so. A NodePool whose instance types cannot be listed does not delay the others.
func (c *Controller) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	ctx = observe.WithController(ctx, name)
	overlays, err := c.overlays(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	pools, unlisted, err := c.pools(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	corrections, results := overlay.Evaluate(overlays, pools, c.Cloud.Labels)
	again, err := c.write(ctx, results)
	if err != nil {
		return reconcile.Result{}, err
	}
	if again {
		return requeue.Soon(), nil
	}
	c.store.Swap(corrections)
	observe.Log(ctx).Debug("evaluated node overlays", logfield.NodeOverlayCount(len(overlays)), logfield.NodePoolCount(len(pools)))
	if unlisted != nil {
		return reconcile.Result{}, unlisted
	}
	return requeue.After(refresh), nil
}

func (c *Controller) overlays(ctx context.Context) ([]*v1alpha1.NodeOverlay, error) {
	var list v1alpha1.NodeOverlayList
	if err := c.Client.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("listing node overlays: %w", err)
	}
	out := make([]*v1alpha1.NodeOverlay, len(list.Items))
	for i := range list.Items {
		out[i] = &list.Items[i]
	}
	return out, nil
}

// pools are the managed NodePools whose instance types can be listed; unlisted has the errors of the others.
func (c *Controller) pools(ctx context.Context) (out []overlay.Pool, unlisted, err error) {
	var list v1.NodePoolList
	if err := c.Client.List(ctx, &list); err != nil {
		return nil, nil, fmt.Errorf("listing node pools: %w", err)
	}
	var errs []error
	for i := range list.Items {
		pool := &list.Items[i]
		if !managed.Is(c.Cloud, pool) {
			continue
		}
		types, err := c.Cloud.Provider.InstanceTypes(ctx, pool)
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("listing instance types of nodepool %q: %w", pool.Name, err))
			continue
		}
		out = append(out, overlay.Pool{NodePool: pool, Types: types})
	}
	return out, errors.Join(errs...), nil
}

// write sets the condition of every NodeOverlay. again is set when a NodeOverlay has changed since it was read.
func (c *Controller) write(ctx context.Context, results []overlay.Result) (again bool, err error) {
	var errs []error
	for _, v := range results {
		stored, next := v.Overlay, v.Overlay.DeepCopy()
		set := condition.For(next, c.Clock.Now())
		if v.Reason == "" {
			set.True(v1alpha1.ConditionTypeValidationSucceeded)
		} else {
			set.False(v1alpha1.ConditionTypeValidationSucceeded, v.Reason, v.Message)
		}
		if equality.Semantic.DeepEqual(stored.Status, next.Status) {
			continue
		}
		patch := client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{})
		switch err := c.Client.Status().Patch(ctx, next, patch); {
		case apierrors.IsConflict(err), apierrors.IsNotFound(err):
			again = true
		case err != nil:
			errs = append(errs, fmt.Errorf("writing status of nodeoverlay %q: %w", stored.Name, err))
		case v.Reason != "":
			observe.Log(ctx).Info("ignoring node overlay", logfield.NodeOverlay(stored.Name), logfield.Reason(v.Reason), logfield.Details(v.Message), logfield.Overlay(v.With))
		}
	}
	return again, errors.Join(errs...)
}
