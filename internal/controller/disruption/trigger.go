package disruption

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/condition"
	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/managed"
	"github.com/karpenter-anew/karpenter/internal/controller/nodelookup"
)

// subscribe wakes the loop on changes that a decision could depend on. The periodic pass finds changes without events, such as
// budgets whose window opens.
func (c *Controller) subscribe(ctx context.Context) error {
	for _, kind := range []struct {
		object  client.Object
		handler toolscache.ResourceEventHandler
	}{
		{&v1.NodeClaim{}, onChange(c, claimMatters)},
		{&v1.NodePool{}, onChange(c, c.poolMatters)},
		{&corev1.Node{}, onChange(c, c.nodeMatters)},
		{c.planKind(), c.onPlan()},
	} {
		if kind.object == nil {
			continue
		}
		informer, err := c.cache.GetInformer(ctx, kind.object)
		if err != nil {
			return fmt.Errorf("watching %T: %w", kind.object, err)
		}
		if _, err := informer.AddEventHandler(kind.handler); err != nil {
			return fmt.Errorf("watching %T: %w", kind.object, err)
		}
	}
	return nil
}

// planKind is the kind of DisruptionPlans, if the feature gate for them is on.
func (c *Controller) planKind() client.Object {
	if !c.Gates.OperationsPolicy {
		return nil
	}
	return &opsv1alpha1.DisruptionPlan{}
}

// onPlan wakes the loop when a plan is decided or deleted.
func (c *Controller) onPlan() toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{
		UpdateFunc: func(before, now any) {
			b, okBefore := before.(*opsv1alpha1.DisruptionPlan)
			n, okNow := now.(*opsv1alpha1.DisruptionPlan)
			if !okBefore || !okNow || b.Spec.Decision == nil && n.Spec.Decision != nil {
				c.wake.send()
			}
		},
		DeleteFunc: func(any) { c.wake.send() },
	}
}

// onChange wakes the loop when managed objects are created or deleted, or change in a relevant way.
func onChange[T client.Object](c *Controller, matters func(before, now T) bool) toolscache.ResourceEventHandler {
	wake := func(o any) {
		object, ok := o.(T)
		if !ok || managed.Is(c.Cloud, object) {
			c.wake.send()
		}
	}
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc: wake,
		UpdateFunc: func(before, now any) {
			b, okBefore := before.(T)
			n, okNow := now.(T)
			if !okBefore || !okNow || matters(b, n) {
				wake(now)
			}
		},
		DeleteFunc: wake,
	}
}

func claimMatters(before, now *v1.NodeClaim) bool {
	return condition.Status(before, v1.ConditionTypeDrifted) != condition.Status(now, v1.ConditionTypeDrifted) ||
		condition.Status(before, v1.ConditionTypeRebooting) != condition.Status(now, v1.ConditionTypeRebooting) ||
		condition.Status(before, v1.ConditionTypeConsolidatable) != condition.Status(now, v1.ConditionTypeConsolidatable) ||
		!before.Status.LastPodEventTime.Equal(&now.Status.LastPodEventTime) ||
		before.DeletionTimestamp.IsZero() != now.DeletionTimestamp.IsZero()
}

func (c *Controller) poolMatters(before, now *v1.NodePool) bool {
	changed := before.Generation != now.Generation || condition.Status(before, v1.ConditionTypeReady) != condition.Status(now, v1.ConditionTypeReady)
	if changed {
		c.Store.MarkUnconsolidated()
	}
	return changed
}

// nodeMatters filters out the heartbeats of kubelets.
func (c *Controller) nodeMatters(before, now *corev1.Node) bool {
	return nodelookup.Ready(before) != nodelookup.Ready(now) ||
		c.Repair && healthMatters(before, now) ||
		before.Labels[v1.NodeInitializedLabelKey] != now.Labels[v1.NodeInitializedLabelKey] ||
		before.Labels[v1.NodePoolLabelKey] != now.Labels[v1.NodePoolLabelKey] ||
		before.Annotations[v1.DoNotDisruptAnnotationKey] != now.Annotations[v1.DoNotDisruptAnnotationKey] ||
		disrupted(before) != disrupted(now) ||
		before.DeletionTimestamp.IsZero() != now.DeletionTimestamp.IsZero()
}

// disrupted reports whether the Node carries the taint of nodes that are about to be removed.
func disrupted(n *corev1.Node) bool {
	taint := v1.DisruptedNoScheduleTaint()
	return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&taint) })
}
