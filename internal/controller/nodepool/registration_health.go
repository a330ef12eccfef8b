package nodepool

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/controller/managed"
	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
)

// RegistrationHealth is the controller nodepool.registrationhealth, and the memory of how the last launches and
// registrations of each NodePool ended, which the NodeClaim lifecycle reports to it. The resulting condition informs;
// scheduling does not depend on it.
type RegistrationHealth struct {
	deps.Shared
	tracker healthTracker
}

// NewRegistrationHealth builds the controller.
func NewRegistrationHealth(shared deps.Shared) *RegistrationHealth {
	return &RegistrationHealth{Shared: shared}
}

// Register adds the controller to the manager.
func (h *RegistrationHealth) Register(m manager.Manager) error {
	return withClasses(m, "nodepool.registrationhealth", h.Shared).Complete(h)
}

// Reconcile resets the condition and the outcomes of a NodePool after a change of its spec or its NodeClass; after a restart it
// restores the outcomes from the condition.
func (h *RegistrationHealth) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	pool := &v1.NodePool{}
	if err := h.Client.Get(ctx, request.NamespacedName, pool); err != nil {
		if client.IgnoreNotFound(err) == nil {
			h.tracker.forget(request.Name)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !managed.Is(h.Cloud, pool) {
		return reconcile.Result{}, nil
	}
	class, err := classOf(ctx, h.Shared, pool)
	if class == nil || err != nil {
		return reconcile.Result{}, err
	}
	stored := pool.DeepCopy()
	set := condition.For(pool, h.Clock.Now())
	have := set.Get(v1.ConditionTypeNodeRegistrationHealthy)
	changed := have == nil || have.ObservedGeneration != pool.Generation || pool.Status.NodeClassObservedGeneration != class.GetGeneration()
	if changed {
		set.Unknown(v1.ConditionTypeNodeRegistrationHealthy, condition.ReasonAwaitingReconciliation, "object is awaiting reconciliation")
	}
	pool.Status.NodeClassObservedGeneration = class.GetGeneration()
	if err := writeStatus(ctx, h.Client, stored, pool); err != nil {
		return requeue.OnConflict(err)
	}
	if changed {
		h.tracker.forget(pool.Name)
	} else if len(h.tracker.of(pool.Name, pool.UID)) == 0 {
		h.tracker.add(pool.Name, pool.UID, restored(have.Status)...)
	}
	return reconcile.Result{}, nil
}

// restored are the outcomes that a condition stands for after a restart.
func restored(status metav1.ConditionStatus) []outcome {
	switch status {
	case metav1.ConditionTrue:
		return []outcome{{}}
	case metav1.ConditionFalse:
		return []outcome{{failed: true}, {failed: true}}
	default:
		return nil
	}
}

// Succeeded records that a NodeClaim has registered.
func (h *RegistrationHealth) Succeeded(ctx context.Context, claim *v1.NodeClaim) error {
	return h.record(ctx, claim, outcome{claim: claim.UID}, func(set condition.Set, next health) {
		if next == healthy {
			set.True(v1.ConditionTypeNodeRegistrationHealthy)
		}
	})
}

// Failed records that a NodeClaim has exceeded its launch or registration timeout.
func (h *RegistrationHealth) Failed(ctx context.Context, claim *v1.NodeClaim) error {
	reason, message := "RegistrationFailed", "Failed to register node"
	if launched := condition.For(claim.DeepCopy(), h.Clock.Now()).Get(v1.ConditionTypeLaunched); launched.Status != metav1.ConditionTrue {
		reason, message = launched.Reason, launched.Message
	}
	return h.record(ctx, claim, outcome{claim: claim.UID, failed: true}, func(set condition.Set, next health) {
		have := set.Get(v1.ConditionTypeNodeRegistrationHealthy)
		if next == unhealthy && (have == nil || have.Status != metav1.ConditionFalse) {
			set.False(v1.ConditionTypeNodeRegistrationHealthy, reason, message)
		}
	})
}

// record writes the condition that follows from an outcome and then keeps the outcome; after a failed write nothing is kept, so that
// the call can be repeated.
func (h *RegistrationHealth) record(ctx context.Context, claim *v1.NodeClaim, one outcome, decide func(condition.Set, health)) error {
	pool, err := h.ownerOf(ctx, claim)
	if pool == nil || err != nil {
		return err
	}
	stored := pool.DeepCopy()
	decide(condition.For(pool, h.Clock.Now()), h.tracker.of(pool.Name, pool.UID).with(one).health())
	if err := writeStatus(ctx, h.Client, stored, pool); err != nil {
		return client.IgnoreNotFound(err)
	}
	h.tracker.add(pool.Name, pool.UID, one)
	return nil
}

// ownerOf returns the NodePool that owns the NodeClaim; nil if there is none, or if it was recreated.
func (h *RegistrationHealth) ownerOf(ctx context.Context, claim *v1.NodeClaim) (*v1.NodePool, error) {
	name := claim.Labels[v1.NodePoolLabelKey]
	if name == "" {
		return nil, nil
	}
	pool := &v1.NodePool{}
	if err := h.Client.Get(ctx, types.NamespacedName{Name: name}, pool); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return nil, nil
		}
		return nil, fmt.Errorf("getting nodepool %q: %w", name, err)
	}
	owns := slices.ContainsFunc(claim.OwnerReferences, func(o metav1.OwnerReference) bool {
		return o.Kind == "NodePool" && o.UID == pool.UID
	})
	if !owns {
		return nil, nil
	}
	return pool, nil
}
