package termination

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/controller/nodelookup"
)

// goneCheck is the time between two checks whether a terminating instance is gone.
const goneCheck = 5 * time.Second

// instanceGone reports whether there is nothing to drain: the Node is not ready and its instance does not exist. A ready Node is
// drained in any case.
func (t *Termination) instanceGone(ctx context.Context, node *corev1.Node) (bool, error) {
	id := node.Spec.ProviderID
	if nodelookup.Ready(node) || id == "" {
		return false, nil
	}
	if _, alive := t.alive.Get(id); alive {
		return false, nil
	}
	_, err := t.Cloud.Provider.Get(ctx, id)
	if cloud.IsNodeClaimNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	t.alive.Set(id, struct{}{})
	return false, nil
}

// terminateInstance terminates the instance and is done when it is gone. Without a NodeClaim garbage collection terminates the
// instance.
func (t *Termination) terminateInstance(ctx context.Context, d terminating) stepResult {
	if d.claim == nil {
		return stepResult{}
	}
	err := t.Cloud.Provider.Delete(ctx, d.claim)
	if cloud.IgnoreNodeClaimNotFound(err) != nil {
		t.ShowFailedTermination(d.claim, err)
		return stepResult{err: fmt.Errorf("terminating the instance of nodeclaim %q: %w", d.claim.Name, err)}
	}
	condition.For(d.claim, t.Clock.Now()).True(v1.ConditionTypeInstanceTerminating)
	if err == nil {
		return stepResult{after: goneCheck}
	}
	return stepResult{}
}
