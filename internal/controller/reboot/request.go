package reboot

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// request drains the node and has the cloud provider reboot it. Once the boot ID is on record the node is not drained again.
func (r *Reboot) request(ctx context.Context, e *episode) (reconcile.Result, error) {
	_, drained := e.preBootID()
	bound, err := cloud.RebootDrainBound(e.claim)
	if err != nil && !drained {
		return r.fail(ctx, e, invalidRequest, err.Error())
	}
	if e.node == nil {
		return r.awaitNode(ctx, e)
	}
	if err := r.taint(ctx, e.node); err != nil {
		return reconcile.Result{}, err
	}
	if !drained {
		wait, err := r.drain(ctx, e, bound)
		if wait > 0 || err != nil {
			return requeue.After(wait), err
		}
		if err := r.recordBootID(ctx, e); err != nil {
			return reconcile.Result{}, err
		}
	}
	return r.issue(ctx, e)
}

// awaitNode waits for the Node of the NodeClaim to appear, for as long as a reboot may take to be accepted.
func (r *Reboot) awaitNode(ctx context.Context, e *episode) (reconcile.Result, error) {
	since, ok := r.timers.started(e.claim, e.requestedAt())
	if !ok {
		since = e.requestedAt()
	}
	left := since.Add(cloud.RebootIssuanceTimeout).Sub(r.Clock.Now())
	if left <= 0 {
		return r.fail(ctx, e, providerError, messageNotIssued)
	}
	return requeue.After(min(pollPeriod, left)), nil
}

// recordBootID writes the boot ID of the drained node to the NodeClaim, and starts the time of the cloud provider. The Node is read from
// the API server: with the boot ID of an earlier boot, the reboot would count as done.
func (r *Reboot) recordBootID(ctx context.Context, e *episode) error {
	current := &corev1.Node{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(e.node), current); err != nil {
		return fmt.Errorf("reading the boot ID of node %q: %w", e.node.Name, err)
	}
	r.timers.start(e.claim, e.requestedAt(), r.Clock.Now())
	err := r.patchClaim(ctx, e.claim, func(claim *v1.NodeClaim) {
		if claim.Annotations == nil {
			claim.Annotations = map[string]string{}
		}
		claim.Annotations[v1.RebootPreBootIDAnnotationKey] = current.Status.NodeInfo.BootID
	})
	if err != nil {
		return err
	}
	e.node = current
	observe.Log(ctx).Info("drained node for a reboot", logfield.Node(current.Name), logfield.Duration(r.Clock.Now().Sub(e.requestedAt())))
	return nil
}
