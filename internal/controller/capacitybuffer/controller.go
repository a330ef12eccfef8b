// Package capacitybuffer keeps headroom for future pods: it resolves each CapacityBuffer to virtual pods, adds these to the
// cluster state, and writes to the status of the buffer where they were placed.
//
// The controller resolves, writes the status and triggers the provisioner. Virtual pods are then part of every solver run,
// after all real pods; the provisioner launches nodes for them as for any others, and calls Report with the plan. Virtual
// pods exist in memory only: after a restart the first pass of the provisioner builds them again.
//
// Source: scheduling specification, CapacityBuffer.
package capacitybuffer

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-anew/karpenter/api/autoscaling/v1beta1"
	"github.com/karpenter-anew/karpenter/api/condition"
	"github.com/karpenter-anew/karpenter/internal/buffer"
	"github.com/karpenter-anew/karpenter/internal/controller/ratelimit"
	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
)

const (
	// name of the controller in logs and metrics.
	name = "capacitybuffer"
	// concurrency is how many buffers are reconciled at once.
	concurrency = 10
	// period is the time between two reconciles of a buffer.
	period = 30 * time.Second
	// rewrite is the time after which a status is written again after a conflict.
	rewrite = time.Second
)

// newSpec leaves out changes of status and metadata only.
type newSpec = predicate.GenerationChangedPredicate

// Controller is the controller capacitybuffer.
type Controller struct {
	*Buffers
	// trigger requests a pass of the provisioner.
	trigger func(id string)
}

// New builds the controller. trigger is called with the UID of a buffer whenever it was resolved, and with its namespace and name when its
// virtual pods are removed: their nodes may be empty now.
func New(buffers *Buffers, trigger func(id string)) *Controller {
	return &Controller{Buffers: buffers, trigger: trigger}
}

// Register adds the controller to the manager. Status changes do not trigger it. Only the metadata of workloads is watched: it says when a
// spec changes.
func (c *Controller) Register(m manager.Manager) error {
	b := builder.ControllerManagedBy(m).
		Named(name).
		For(&v1beta1.CapacityBuffer{}, builder.WithPredicates(newSpec{})).
		Watches(&corev1.PodTemplate{}, handler.EnqueueRequestsFromMapFunc(c.ofTemplate))
	for _, kind := range buffer.ScalableKinds() {
		workload := &metav1.PartialObjectMetadata{}
		workload.SetGroupVersionKind(kind)
		b = b.Watches(workload, handler.EnqueueRequestsFromMapFunc(c.ofWorkload(kind.Kind)), builder.WithPredicates(newSpec{}))
	}
	return b.
		WithOptions(controller.Options{
			MaxConcurrentReconciles: concurrency,
			RateLimiter:             ratelimit.New[reconcile.Request](100*time.Millisecond, time.Minute, 10, 100),
		}).
		Complete(c)
}

// ofTemplate are the buffers that refer to a PodTemplate.
func (c *Controller) ofTemplate(ctx context.Context, template client.Object) []reconcile.Request {
	return c.referring(ctx, template.GetNamespace(), func(b *v1beta1.CapacityBuffer) bool {
		ref := b.Spec.PodTemplateRef
		return ref != nil && ref.Name == template.GetName()
	})
}

// ofWorkload are the buffers that refer to a workload of a kind.
func (c *Controller) ofWorkload(kind string) handler.MapFunc {
	return func(ctx context.Context, workload client.Object) []reconcile.Request {
		return c.referring(ctx, workload.GetNamespace(), func(b *v1beta1.CapacityBuffer) bool {
			return buffer.Names(b.Spec.ScalableRef, kind, workload.GetName())
		})
	}
}

// referring are the buffers of a namespace for which refers is true.
func (c *Controller) referring(ctx context.Context, namespace string, refers func(*v1beta1.CapacityBuffer) bool) []reconcile.Request {
	var list v1beta1.CapacityBufferList
	if err := c.Client.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil // reads from the cache fail only while the process stops; every buffer is reconciled again soon
	}
	var out []reconcile.Request
	for i := range list.Items {
		if refers(&list.Items[i]) {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return out
}

// Reconcile resolves one buffer.
func (c *Controller) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	b := &v1beta1.CapacityBuffer{}
	if err := c.Client.Get(ctx, request.NamespacedName, b); err != nil {
		if apierrors.IsNotFound(err) {
			c.remove(request.String())
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !b.DeletionTimestamp.IsZero() {
		c.remove(request.String())
		return reconcile.Result{}, nil
	}
	stored := b.DeepCopy()
	want, failure := c.resolve(ctx, b)
	switch {
	case failure == nil:
		c.put(b, want)
		setResolved(b, want)
	case failure.Invalid:
		c.remove(request.String())
	}
	c.setConditions(b, failure)
	if err := c.writeStatus(ctx, stored, b); err != nil {
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			return requeue.After(rewrite), nil
		}
		return reconcile.Result{}, err
	}
	switch {
	case failure == nil:
		c.trigger(string(b.UID))
	case failure.Retry:
		return reconcile.Result{}, fmt.Errorf("resolving capacity buffer: %w", failure)
	}
	return requeue.After(period), nil
}

// remove removes the virtual pods of a buffer, if it has any.
func (c *Controller) remove(key string) {
	if c.drop(key) {
		c.trigger(key)
	}
}

// setResolved sets the status of a buffer that was resolved.
func setResolved(b *v1beta1.CapacityBuffer, want demand) {
	b.Status.Replicas = &want.replicas
	b.Status.ProvisioningStrategy = b.Spec.ProvisioningStrategy
	b.Status.PodTemplateRef, b.Status.PodTemplateGeneration = nil, nil
	if ref := b.Spec.PodTemplateRef; ref != nil {
		b.Status.PodTemplateRef = ref.DeepCopy()
		b.Status.PodTemplateGeneration = &want.chunk.Generation
	}
}

func (c *Controller) setConditions(b *v1beta1.CapacityBuffer, failure *buffer.Failure) {
	ready := metav1.Condition{Type: v1beta1.ConditionTypeReadyForProvisioning, Status: metav1.ConditionTrue, Reason: v1beta1.ReasonResolved}
	if failure != nil {
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, failure.Reason, failure.Error()
		// Report would set it only with the next pass of the provisioner.
		c.set(b, notReady())
	}
	c.set(b, ready)
}

// set sets a condition and reports whether that changes anything.
func (s *Buffers) set(b *v1beta1.CapacityBuffer, to metav1.Condition) bool {
	to.ObservedGeneration, to.Message = b.Generation, condition.TruncateMessage(to.Message)
	to.LastTransitionTime = metav1.NewTime(s.Clock.Now())
	return meta.SetStatusCondition(&b.Status.Conditions, to)
}

// writeStatus writes what changed in the status; a conflict is an error.
func (s *Buffers) writeStatus(ctx context.Context, stored, b *v1beta1.CapacityBuffer) error {
	if apiequality.Semantic.DeepEqual(stored.Status, b.Status) {
		return nil
	}
	patch := client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{})
	if err := s.Client.Status().Patch(ctx, b, patch); err != nil {
		return fmt.Errorf("writing status of capacity buffer %q: %w", client.ObjectKeyFromObject(b), err)
	}
	return nil
}
