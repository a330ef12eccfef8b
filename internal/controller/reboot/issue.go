package reboot

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// The condition Initialized of a node that is rebooted.
const (
	reasonRebooting  = "Rebooting"
	messageRebooting = "node is rebooting"
)

// issue has the cloud provider reboot the instance. A node that has booted since its boot ID was recorded was rebooted before a restart
// of this process, and is not rebooted again.
func (r *Reboot) issue(ctx context.Context, e *episode) (reconcile.Result, error) {
	if e.rebooted() {
		return r.issued(ctx, e)
	}
	since := r.timers.start(e.claim, e.requestedAt(), r.Clock.Now())
	if !r.Clock.Now().Before(since.Add(cloud.RebootIssuanceTimeout)) {
		return r.fail(ctx, e, providerError, messageNotIssued)
	}
	if wanted, err := r.wanted(ctx, e); !wanted || err != nil {
		return requeue.Soon(), err
	}
	err := r.Cloud.Reboot(ctx, e.claim, e.operationID())
	switch {
	case err == nil:
		return r.issued(ctx, e)
	case cloud.IsRebootNotImplemented(err):
		return r.fail(ctx, e, providerError, messageNotImplemented)
	case cloud.IsRebootRejected(err), cloud.IsNodeClaimNotFound(err):
		return r.fail(ctx, e, providerError, "reboot rejected by the cloud provider: "+err.Error())
	}
	return reconcile.Result{}, fmt.Errorf("rebooting the instance of nodeclaim %q: %w", e.claim.Name, err)
}

// wanted reports whether the API server has the request of this reboot, and the cloud has not accepted it. The cache may still have a request that
// was cancelled, or that a write ended whose answer was lost.
func (r *Reboot) wanted(ctx context.Context, e *episode) (bool, error) {
	current := &v1.NodeClaim{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(e.claim), current); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	c := meta.FindStatusCondition(current.Status.Conditions, v1.ConditionTypeRebooting)
	return current.UID == e.claim.UID && current.DeletionTimestamp == nil && c != nil && c.Status == metav1.ConditionTrue &&
		c.Reason != v1.RebootReasonIssued && c.LastTransitionTime.Time.Equal(e.requestedAt()), nil
}

// operationID is the same for every attempt of this reboot, and differs from that of any other reboot.
func (e *episode) operationID() string {
	id, _ := e.preBootID()
	return fmt.Sprintf("%s-%d-%s", e.claim.UID, e.requestedAt().UnixNano(), id)
}

// issued records that the cloud provider has accepted the reboot. The transition time of Initialized is the time of that, even if the
// node was not initialized before: the node has the observation window from then on.
func (r *Reboot) issued(ctx context.Context, e *episode) (reconcile.Result, error) {
	now := r.Clock.Now()
	err := r.patchStatus(ctx, e.claim, func(claim *v1.NodeClaim) {
		set := condition.For(claim, now)
		set.TrueWithReason(v1.ConditionTypeRebooting, v1.RebootReasonIssued, e.progress.Message)
		set.Unknown(v1.ConditionTypeInitialized, reasonRebooting, messageRebooting)
		stampInitialized(claim, now)
	})
	if err != nil {
		return reconcile.Result{}, err
	}
	r.timers.stop(e.claim.Name)
	e.progress.Reason = v1.RebootReasonIssued
	observe.Log(ctx).Info("issued node reboot", logfield.Node(e.node.Name), logfield.ProviderID(e.claim.Status.ProviderID), logfield.Reason(e.progress.Message))
	return r.observe(ctx, e)
}

func stampInitialized(claim *v1.NodeClaim, now time.Time) {
	for i := range claim.Status.Conditions {
		if c := &claim.Status.Conditions[i]; c.Type == v1.ConditionTypeInitialized {
			c.LastTransitionTime = metav1.NewTime(now.Truncate(time.Second))
		}
	}
}
