package reboot

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/controller/nodelookup"
	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

const messageSucceeded = "node rebooted and rejoined the cluster"

// observe waits until the node is ready with a new boot ID.
func (r *Reboot) observe(ctx context.Context, e *episode) (reconcile.Result, error) {
	issuedAt, err := r.issuedAt(ctx, e)
	if err != nil {
		return reconcile.Result{}, err
	}
	if e.node != nil {
		if err := r.unlabel(ctx, e.node); err != nil {
			return reconcile.Result{}, err
		}
	}
	if e.node != nil && e.rebooted() {
		if err := r.untaint(ctx, e.node); err != nil {
			return reconcile.Result{}, err
		}
		r.Recorder.Publish(observe.RebootObserved(e.claim, e.requestedAt()))
		if nodelookup.Ready(e.node) {
			return reconcile.Result{}, r.succeed(ctx, e, issuedAt)
		}
	}
	left := issuedAt.Add(cloud.RebootRecoveryTimeout).Sub(r.Clock.Now())
	if left <= 0 {
		return r.fail(ctx, e, recoveryTimeout, messageNotRecovered)
	}
	return requeue.After(min(pollPeriod, left)), nil
}

// issuedAt is when the cloud provider accepted the reboot. The condition that says so is restored if another client has replaced it.
func (r *Reboot) issuedAt(ctx context.Context, e *episode) (time.Time, error) {
	c := meta.FindStatusCondition(e.claim.Status.Conditions, v1.ConditionTypeInitialized)
	if c != nil && c.Status == metav1.ConditionUnknown && c.Reason == reasonRebooting {
		return c.LastTransitionTime.Time, nil
	}
	now := r.Clock.Now()
	return now, r.patchStatus(ctx, e.claim, func(claim *v1.NodeClaim) {
		condition.For(claim, now).Unknown(v1.ConditionTypeInitialized, reasonRebooting, messageRebooting)
		stampInitialized(claim, now)
	})
}

// rebooted reports whether the node has booted since its boot ID was recorded. The record is removed once that is established.
func (e *episode) rebooted() bool {
	id, recorded := e.preBootID()
	if !recorded {
		return true
	}
	current := e.node.Status.NodeInfo.BootID
	return current != "" && current != id
}

// unlabel removes the label of initialized Nodes.
func (r *Reboot) unlabel(ctx context.Context, node *corev1.Node) error {
	if _, ok := node.Labels[v1.NodeInitializedLabelKey]; !ok {
		return nil
	}
	stored := node.DeepCopy()
	delete(node.Labels, v1.NodeInitializedLabelKey)
	if err := r.Client.Patch(ctx, node, client.MergeFrom(stored)); err != nil {
		return fmt.Errorf("removing the label %s of node %q: %w", v1.NodeInitializedLabelKey, node.Name, err)
	}
	return nil
}

// succeed ends the reboot of a node that is back. The annotations go first: a boot ID that were left behind would make the next reboot
// count as done. A pass that finds none after a restart knows that the new boot has been seen.
func (r *Reboot) succeed(ctx context.Context, e *episode, issuedAt time.Time) error {
	if err := r.forget(ctx, e); err != nil {
		return err
	}
	now := r.Clock.Now()
	err := r.patchStatus(ctx, e.claim, func(claim *v1.NodeClaim) {
		condition.For(claim, now).False(v1.ConditionTypeRebooting, v1.RebootReasonSucceeded, messageSucceeded)
	})
	if err != nil {
		return err
	}
	took, recovery := now.Sub(e.requestedAt()), now.Sub(issuedAt)
	r.count(succeeded, took)
	r.Metrics.Nodes.RebootRecovery.WithLabelValues().Observe(recovery.Seconds())
	observe.Log(ctx).Info("rebooted node", logfield.Node(e.node.Name), logfield.ProviderID(e.claim.Status.ProviderID), logfield.Duration(took))
	return nil
}

// forget removes the annotations of a reboot, if the boot ID is among them. The bound alone is left alone: it may belong to a request
// that is just being written.
func (r *Reboot) forget(ctx context.Context, e *episode) error {
	if _, recorded := e.preBootID(); !recorded {
		return nil
	}
	return r.patchClaim(ctx, e.claim, func(claim *v1.NodeClaim) {
		delete(claim.Annotations, v1.RebootPreBootIDAnnotationKey)
		delete(claim.Annotations, v1.RebootTerminationGracePeriodAnnotationKey)
	})
}
