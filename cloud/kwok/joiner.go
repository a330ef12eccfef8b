package kwok

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-anew/karpenter/api/condition"
	"github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

const (
	joinerName = "kwok.join"
	// joinerWorkers is how many Nodes join concurrently. Workers only wait for the API server.
	joinerWorkers = 50
)

// joiner creates the Node of every launched instance after its registration delay, and again if the Node is deleted
// before it is registered. It derives its work from the claim each time, so that it may be stopped
// at any point.
type joiner struct {
	client client.Client
	// live reads past the cache. The joiner reads the claim again just before it creates the Node, because a Node
	// created for a deleted NodeClaim would have no owner.
	live    client.Reader
	clock   clock.PassiveClock
	manages func(*v1.NodeClassReference) bool
	// devices are the devices of instance types, by the type's name.
	devices map[string]*cloud.DynamicResources
}

func (j *joiner) register(m manager.Manager) error {
	onlyDeletions := predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		UpdateFunc:  func(event.UpdateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
	waiting := predicate.NewPredicateFuncs(func(o client.Object) bool {
		claim, ok := o.(*v1.NodeClaim)
		return ok && j.waits(claim)
	})
	return builder.ControllerManagedBy(m).
		Named(joinerName).
		For(&v1.NodeClaim{}, builder.WithPredicates(waiting)).
		Owns(&corev1.Node{}, builder.MatchEveryOwner, builder.WithPredicates(onlyDeletions)).
		WithOptions(controller.Options{MaxConcurrentReconciles: joinerWorkers}).
		Complete(j)
}

// waits reports whether the claim's instance has been launched and is not registered yet, so that it needs a Node, or has
// not published its devices yet.
func (j *joiner) waits(claim *v1.NodeClaim) bool {
	_, ours := nodeNameOf(claim.Status.ProviderID)
	return ours && j.manages(claim.Spec.NodeClassRef) && claim.DeletionTimestamp.IsZero() &&
		condition.Status(claim, v1.ConditionTypeLaunched) == metav1.ConditionTrue &&
		(!registered(claim) || j.silent(claim))
}

func registered(claim *v1.NodeClaim) bool {
	return condition.Status(claim, v1.ConditionTypeRegistered) == metav1.ConditionTrue
}

// Reconcile creates the Node of one claim if it is due.
func (j *joiner) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	claim := &v1.NodeClaim{}
	if err := j.client.Get(ctx, req.NamespacedName, claim); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !j.waits(claim) {
		return reconcile.Result{}, nil
	}
	delay, err := j.registrationDelay(ctx, claim)
	if err != nil {
		return reconcile.Result{}, err
	}
	launched := meta.FindStatusCondition(claim.Status.Conditions, v1.ConditionTypeLaunched)
	if left := launched.LastTransitionTime.Add(delay).Sub(j.clock.Now()); delay > 0 && left > 0 {
		return reconcile.Result{RequeueAfter: left}, nil
	}
	current := &v1.NodeClaim{}
	if err := j.live.Get(ctx, req.NamespacedName, current); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if current.UID != claim.UID || !j.waits(current) {
		return reconcile.Result{}, nil
	}
	node := newNode(current)
	if registered(current) {
		// A Node that was deleted after its registration does not come back.
		if err := j.live.Get(ctx, client.ObjectKeyFromObject(node), node); err != nil {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
		return reconcile.Result{}, j.publish(ctx, node)
	}
	return reconcile.Result{}, j.join(ctx, node)
}

// registrationDelay is the delay of the claim's node class. An instance whose class was deleted was launched
// nevertheless, and joins at once.
func (j *joiner) registrationDelay(ctx context.Context, claim *v1.NodeClaim) (time.Duration, error) {
	class := &v1alpha1.KWOKNodeClass{}
	err := j.client.Get(ctx, client.ObjectKey{Name: claim.Spec.NodeClassRef.Name}, class)
	if apierrors.IsNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("getting node class %q of nodeclaim %q: %w", claim.Spec.NodeClassRef.Name, claim.Name, err)
	}
	if class.Spec.NodeRegistrationDelay == nil {
		return 0, nil
	}
	return class.Spec.NodeRegistrationDelay.Duration, nil
}

// join creates node. An existing Node of that name is the same instance; join only adds missing resources.
func (j *joiner) join(ctx context.Context, node *corev1.Node) error {
	wanted := node.Status.DeepCopy()
	err := j.client.Create(ctx, node)
	switch {
	case err == nil:
		slog.New(logr.ToSlogHandler(log.FromContext(ctx))).InfoContext(ctx, "created node",
			logfield.Node(node.Name), logfield.ProviderID(node.Spec.ProviderID))
	case !apierrors.IsAlreadyExists(err):
		return fmt.Errorf("creating node %q: %w", node.Name, err)
	default:
		if err := j.live.Get(ctx, client.ObjectKeyFromObject(node), node); err != nil {
			return client.IgnoreNotFound(err)
		}
	}
	if err := j.publish(ctx, node); err != nil {
		return err
	}
	before := node.DeepCopy()
	node.Status.Capacity = withMissing(node.Status.Capacity, wanted.Capacity)
	node.Status.Allocatable = withMissing(node.Status.Allocatable, wanted.Allocatable)
	if equality.Semantic.DeepEqual(before.Status, node.Status) {
		return nil
	}
	if err := j.client.Status().Patch(ctx, node, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("setting resources of node %q: %w", node.Name, err)
	}
	return nil
}

// withMissing is have with the resources of want that it lacks. It does not change existing values: others may have changed them.
func withMissing(have, want corev1.ResourceList) corev1.ResourceList {
	out := want.DeepCopy()
	maps.Copy(out, have)
	return out
}
