// Package featuregate shows on objects whose feature gate is off that the controller does not apply them. Without it they keep the conditions
// that an earlier process wrote with the gate on, and look as if they were applied.
//
// The controllers of these objects replace what is written here once the gate is on again.
package featuregate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-anew/karpenter/api/autoscaling/v1beta1"
	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	"github.com/karpenter-anew/karpenter/api/v1alpha1"
	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/controller/ratelimit"
	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
	"github.com/karpenter-anew/karpenter/internal/controller/singleton"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
	"github.com/karpenter-anew/karpenter/internal/options"
)

const (
	// name is the controller's name in logs and metrics.
	name = "featuregate.status"
	// period is the time between two passes. The first one, at the start, finds what an earlier process wrote.
	period = time.Minute
)

// Status is the controller featuregate.status.
//
// Problem: the CRDs of gates that are off need not be installed, and the controller need not be allowed to read their objects; a watch would
// keep the process from starting in both cases. Approach: list the objects from the API server from time to time, and do without those that
// cannot be listed. Only objects whose status does not say it yet are written.
type Status struct {
	deps.Shared
	kinds []*kind
}

// kind is a kind of objects whose feature gate is off.
type kind struct {
	// name and gate are those of the kind and of its feature gate.
	name, gate string
	// verb is what the controller does with these objects when the gate is on, as a participle.
	verb string
	list client.ObjectList
	// failure is the last error of a pass, so that it is logged once while it lasts.
	failure string
}

// New builds the controller for the gates that are off; nil if there are no kinds whose gate is off.
func New(shared deps.Shared, gates options.FeatureGates) *Status {
	s := &Status{Shared: shared}
	for _, k := range []struct {
		on   bool
		kind kind
	}{
		{gates.NodeOverlay, kind{name: "NodeOverlay", gate: "NodeOverlay", verb: "applied", list: &v1alpha1.NodeOverlayList{}}},
		{gates.CapacityBuffer, kind{name: "CapacityBuffer", gate: "CapacityBuffer", verb: "applied", list: &v1beta1.CapacityBufferList{}}},
		{gates.OperationsPolicy, kind{name: "OperationsPolicy", gate: "OperationsPolicy", verb: "applied", list: &opsv1alpha1.OperationsPolicyList{}}},
		{gates.OperationsPolicy, kind{name: "DisruptionPlan", gate: "OperationsPolicy", verb: "executed", list: &opsv1alpha1.DisruptionPlanList{}}},
	} {
		if !k.on {
			s.kinds = append(s.kinds, &k.kind)
		}
	}
	if len(s.kinds) == 0 {
		return nil
	}
	return s
}

// Register adds the controller to the manager.
func (s *Status) Register(m manager.Manager) error {
	return builder.ControllerManagedBy(m).
		Named(name).
		WatchesRawSource(singleton.Source()).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: 1,
			RateLimiter:             ratelimit.New[reconcile.Request](time.Second, period, 10, 100),
		}).
		Complete(s)
}

// Reconcile runs one pass over the objects of all kinds. Kinds that cannot be listed or written do not delay others: an error is logged when it
// is new, and the next pass tries again.
func (s *Status) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	ctx = observe.WithController(ctx, name)
	for _, k := range s.kinds {
		err := s.pass(ctx, k)
		if ctx.Err() != nil {
			return reconcile.Result{}, ctx.Err()
		}
		failure := ""
		if err != nil {
			failure = err.Error()
		}
		if failure != "" && failure != k.failure {
			observe.Log(ctx).Error("cannot show on objects that their feature gate is off, retrying in "+period.String(), logfield.Error(err))
		}
		k.failure = failure
	}
	return requeue.After(period), nil
}

// pass shows on all objects of a kind that they are not applied. Objects that changed since they were listed are left to the next pass.
func (s *Status) pass(ctx context.Context, k *kind) error {
	list, ok := k.list.DeepCopyObject().(client.ObjectList)
	if !ok {
		return fmt.Errorf("%T is no list", k.list)
	}
	switch err := s.Live.List(ctx, list); {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return nil // its CRD is not installed
	case err != nil:
		return fmt.Errorf("listing objects of the kind %s: %w", k.name, err)
	}
	var errs []error
	err := meta.EachListItem(list, func(item runtime.Object) error {
		o, isObject := item.(client.Object)
		if !isObject || !o.GetDeletionTimestamp().IsZero() {
			return nil
		}
		if err := s.write(ctx, k, o); !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			errs = append(errs, err)
		}
		return ctx.Err()
	})
	return errors.Join(append(errs, err)...)
}

// write shows on one object that it is not applied, unless its status says so.
func (s *Status) write(ctx context.Context, k *kind, o client.Object) error {
	stored, ok := o.DeepCopyObject().(client.Object)
	if !ok {
		return nil
	}
	message := fmt.Sprintf("the feature gate %s is off: this %s is not %s; start the controller with --feature-gates=%s=true", k.gate, k.name, k.verb, k.gate)
	show(o, s.Clock.Now(), message)
	if equality.Semantic.DeepEqual(stored, o) {
		return nil
	}
	patch := client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{})
	if err := s.Client.Status().Patch(ctx, o, patch); err != nil {
		return fmt.Errorf("writing status of %s %q: %w", k.name, client.ObjectKeyFromObject(stored), err)
	}
	observe.Log(ctx).Info("the feature gate of an object is off, so it is not "+k.verb, logfield.Object(k.name, objectName(stored)), logfield.FeatureGates(k.gate+"=false"))
	return nil
}

// objectName is namespace/name, or the name of an object without a namespace.
func objectName(o client.Object) string {
	if o.GetNamespace() == "" {
		return o.GetName()
	}
	return client.ObjectKeyFromObject(o).String()
}
