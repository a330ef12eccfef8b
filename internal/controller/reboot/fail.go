package reboot

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// The results of reboots in metrics.
const (
	succeeded       = "succeeded"
	providerError   = "provider_error"
	recoveryTimeout = "recovery_timeout"
	invalidRequest  = "invalid_request"
)

// The messages of reboots that failed.
const (
	messageNotImplemented = "reboot not implemented by the cloud provider"
	messageNotIssued      = "reboot was not issued within the issuance timeout"
	messageNotRecovered   = "node did not recover within the observation window"
)

// count counts a reboot that has ended.
func (r *Reboot) count(result string, took time.Duration) {
	r.Metrics.Nodes.Reboots.WithLabelValues(result).Inc()
	r.Metrics.Nodes.RebootDuration.WithLabelValues(result).Observe(took.Seconds())
}

// fail ends a reboot that is not possible, or whose node did not return. The boot ID stays on record, so that a restart before the
// deletion of the NodeClaim does not lose it; a request that is invalid never has one.
func (r *Reboot) fail(ctx context.Context, e *episode, result, message string) (reconcile.Result, error) {
	if _, recorded := e.preBootID(); !recorded && result != invalidRequest {
		err := r.patchClaim(ctx, e.claim, func(claim *v1.NodeClaim) {
			if claim.Annotations == nil {
				claim.Annotations = map[string]string{}
			}
			claim.Annotations[v1.RebootPreBootIDAnnotationKey] = ""
		})
		if err != nil {
			return reconcile.Result{}, err
		}
	}
	now := r.Clock.Now()
	err := r.patchStatus(ctx, e.claim, func(claim *v1.NodeClaim) {
		condition.For(claim, now).False(v1.ConditionTypeRebooting, v1.RebootReasonFailed, message)
	})
	if err != nil {
		return reconcile.Result{}, err
	}
	r.timers.stop(e.claim.Name)
	r.count(result, now.Sub(e.requestedAt()))
	r.Recorder.Publish(observe.RebootFailed(e.claim, e.requestedAt(), message))
	observe.Log(ctx).Error("node reboot failed", logfield.NodeClaim(e.claim.Name), logfield.Reason(result), logfield.Details(message))
	e.progress.Reason = v1.RebootReasonFailed
	return r.end(ctx, e)
}

// end cleans up after a reboot that has ended, or that another client has cancelled by setting or removing the condition. It deletes NodeClaims whose
// reboot failed.
func (r *Reboot) end(ctx context.Context, e *episode) (reconcile.Result, error) {
	r.timers.stop(e.claim.Name)
	if e.node != nil && tainted(e.node) {
		pods, err := r.podsOn(ctx, e.node)
		if err != nil {
			return reconcile.Result{}, err
		}
		for i := range pods {
			r.evictions.Withdraw(&pods[i])
		}
		if err := r.untaint(ctx, e.node); err != nil {
			return reconcile.Result{}, err
		}
	}
	if _, recorded := e.preBootID(); recorded && e.progress.Reason == v1.RebootReasonFailed {
		return reconcile.Result{}, r.delete(ctx, e.claim)
	}
	return reconcile.Result{}, r.forget(ctx, e)
}

// delete deletes the NodeClaim of a reboot that failed. The drain of its node is bounded as that of the reboot was.
func (r *Reboot) delete(ctx context.Context, claim *v1.NodeClaim) error {
	bound, err := cloud.RebootDrainBound(claim)
	if err == nil && bound != nil {
		if err := r.tighten(ctx, claim, r.Clock.Now().Add(*bound)); err != nil {
			return err
		}
	}
	err = r.Client.Delete(ctx, claim, client.Preconditions{UID: &claim.UID, ResourceVersion: &claim.ResourceVersion})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting nodeclaim %q after its reboot failed: %w", claim.Name, err)
	}
	observe.Log(ctx).Info("deleting nodeclaim, its reboot failed", logfield.NodeClaim(claim.Name))
	return nil
}

// tighten sets the termination deadline of the NodeClaim, unless it has one that is not later.
func (r *Reboot) tighten(ctx context.Context, claim *v1.NodeClaim, deadline time.Time) error {
	have, err := time.Parse(time.RFC3339, claim.Annotations[v1.NodeClaimTerminationTimestampAnnotationKey])
	if err == nil && !have.After(deadline) {
		return nil
	}
	return r.patchClaim(ctx, claim, func(claim *v1.NodeClaim) {
		claim.Annotations[v1.NodeClaimTerminationTimestampAnnotationKey] = deadline.Format(time.RFC3339)
	})
}
