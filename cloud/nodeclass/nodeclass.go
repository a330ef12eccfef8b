// Package nodeclass has what the controllers of node classes do on every cloud: they run the steps that keep the status of a class, keep
// its hash, and hold a deleted class until no NodeClaim refers to it. What the steps look at is up to the provider.
package nodeclass

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

// waitForClaims is when a deleted class is looked at again that NodeClaims refer to. Their deletion is noticed earlier.
const waitForClaims = 10 * time.Minute

// Class is a pointer to a node class.
type Class interface {
	client.Object
	condition.Object
}

// Kind says which kind of node class is reconciled.
type Kind[C Class] struct {
	// Group is the API group, Name the kind, such as EC2NodeClass.
	Group, Name string
	// New makes an empty class.
	New func() C
}

// text names a class in errors, as kubectl does.
func (k Kind[C]) text(class C) string {
	return fmt.Sprintf("%s %q", strings.ToLower(k.Name), class.GetName())
}

// Claims are the NodeClaims that refer to a class.
func (k Kind[C]) Claims(ctx context.Context, c client.Client, class C) ([]v1.NodeClaim, error) {
	var list v1.NodeClaimList
	if err := c.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("listing nodeclaims: %w", err)
	}
	return slices.DeleteFunc(list.Items, func(claim v1.NodeClaim) bool {
		ref := claim.Spec.NodeClassRef
		return ref == nil || ref.Group != k.Group || ref.Name != class.GetName()
	}), nil
}

// Step keeps one part of the status of a class, in memory. It returns when to look again; 0 for never.
type Step[C Class] struct {
	// Name is what the step looks after, in errors: "subnets".
	Name string
	Run  func(context.Context, C, condition.Set) (time.Duration, error)
}

// Status keeps the status of node classes, and their finalizer.
type Status[C Class] struct {
	Kind[C]
	Client    client.Client
	Recorder  *observe.Recorder
	Now       func() time.Time
	Finalizer string
	// Conditions is the class as its conditions are counted; nil for the class itself.
	Conditions func(C) condition.Object
	// Steps run in their order.
	Steps []Step[C]
	// Changed has classes to reconcile because of what a provider learned elsewhere; nil for none.
	Changed <-chan event.GenericEvent
	// Settle brings what steps have written to the class into an order that does not change from one reconciliation to the next, given the
	// class before them; nil for none.
	Settle func(before, after C)
	// End deletes what was made for a class, before its finalizer is removed; nil for nothing.
	End func(context.Context, C) error
}

// Reconcile updates the status of one class. All steps run, even if others fail; a failed step leaves its part unchanged.
func (s *Status[C]) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	class := s.New()
	if err := s.Client.Get(ctx, req.NamespacedName, class); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !class.GetDeletionTimestamp().IsZero() {
		return s.finalize(ctx, class)
	}
	if !controllerutil.ContainsFinalizer(class, s.Finalizer) {
		before := class.DeepCopyObject().(C)
		controllerutil.AddFinalizer(class, s.Finalizer)
		if err := s.Client.Patch(ctx, class, locked(before)); err != nil {
			return settle(err)
		}
	}
	before := class.DeepCopyObject().(C)
	again, err := s.run(ctx, class)
	if s.Settle != nil {
		s.Settle(before, class)
	}
	if equality.Semantic.DeepEqual(before, class) {
		return reconcile.Result{RequeueAfter: again}, err
	}
	if patchErr := s.Client.Status().Patch(ctx, class, locked(before)); patchErr != nil {
		result, patchErr := settle(patchErr)
		return result, errors.Join(err, patchErr)
	}
	return reconcile.Result{RequeueAfter: again}, err
}

// run runs the steps and returns when to look again.
func (s *Status[C]) run(ctx context.Context, class C) (again time.Duration, _ error) {
	var object condition.Object = class
	if s.Conditions != nil {
		object = s.Conditions(class)
	}
	set := condition.For(object, s.Now())
	var errs []error
	for _, step := range s.Steps {
		after, err := step.Run(ctx, class, set)
		if err != nil {
			errs = append(errs, fmt.Errorf("looking after %s of %s: %w", step.Name, s.text(class), err))
		}
		if after > 0 && (again == 0 || after < again) {
			again = after
		}
	}
	return again, errors.Join(errs...)
}

// finalize ends a class once no claim refers to it. A class whose end fails stays.
func (s *Status[C]) finalize(ctx context.Context, class C) (reconcile.Result, error) {
	if !controllerutil.ContainsFinalizer(class, s.Finalizer) {
		return reconcile.Result{}, nil
	}
	claims, err := s.Claims(ctx, s.Client, class)
	if err != nil {
		return reconcile.Result{}, err
	}
	if len(claims) > 0 {
		var names []string
		for i := range claims {
			names = append(names, claims[i].Name)
		}
		slices.Sort(names)
		s.Recorder.Publish(observe.WaitingOnNodeClaimTermination(class, class.GetUID(), names))
		return reconcile.Result{RequeueAfter: waitForClaims}, nil
	}
	if s.End != nil {
		if err := s.End(ctx, class); err != nil {
			return reconcile.Result{}, fmt.Errorf("finalizing %s: %w", s.text(class), err)
		}
	}
	before := class.DeepCopyObject().(C)
	controllerutil.RemoveFinalizer(class, s.Finalizer)
	if err := s.Client.Patch(ctx, class, locked(before)); err != nil {
		return settle(err)
	}
	return reconcile.Result{}, nil
}

// locked is a patch of what has changed since before, which fails if another writer was first.
func locked(before client.Object) client.Patch {
	return client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
}

// settle handles the error of a write: conflicts are retried, not found is no error.
func settle(err error) (reconcile.Result, error) {
	switch {
	case apierrors.IsNotFound(err):
		return reconcile.Result{}, nil
	case apierrors.IsConflict(err):
		return reconcile.Result{RequeueAfter: time.Second}, nil
	default:
		return reconcile.Result{}, err
	}
}
