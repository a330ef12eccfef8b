package termination

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// goneCheck is how soon the provider is asked again whether a terminating instance is gone.
const goneCheck = 5 * time.Second

// instanceGone reports whether there is nothing left to drain: the Node is not ready and the provider knows no such
// instance. A ready Node is drained whatever the provider says.
func (t *Termination) instanceGone(ctx context.Context, node *corev1.Node) (bool, error) {
	id := node.Spec.ProviderID
	if ready(node) || id == "" {
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

// endInstance asks the provider to end the instance until it is gone. Without a claim there is nothing to go by: the
// instance is left to garbage collection.
func (t *Termination) endInstance(ctx context.Context, d departure) verdict {
	if d.claim == nil {
		return verdict{}
	}
	err := t.Cloud.Provider.Delete(ctx, d.claim)
	if cloud.IgnoreNodeClaimNotFound(err) != nil {
		return verdict{err: fmt.Errorf("terminating the instance of nodeclaim %q: %w", d.claim.Name, err)}
	}
	condition.For(d.claim, t.Clock.Now()).True(v1.ConditionTypeInstanceTerminating)
	if err == nil {
		return verdict{after: goneCheck}
	}
	return verdict{}
}

// ready reports whether the kubelet says that the Node is ready.
func ready(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}
