package termination

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// deadline returns when the pods of the Node must be gone, nil if there is no deadline. A malformed annotation is replaced by the
// deadline of the NodeClaim's spec, so that it does not block the termination of the Node.
func (t *Termination) deadline(ctx context.Context, node *corev1.Node, claim *v1.NodeClaim) (*time.Time, error) {
	if claim == nil {
		return nil, nil
	}
	text, ok := claim.Annotations[v1.NodeClaimTerminationTimestampAnnotationKey]
	if !ok {
		return nil, nil
	}
	deadline, err := time.Parse(time.RFC3339, text)
	if err != nil {
		observe.Log(ctx).Error("replacing a malformed termination deadline", logfield.NodeClaim(claim.Name), logfield.Value(text), logfield.Error(err))
		t.Recorder.Publish(observe.InvalidTerminationTimestamp(claim, text))
		return t.rewriteDeadline(ctx, claim)
	}
	t.Recorder.Publish(observe.NodeTerminationGracePeriodExpiring(node, text))
	return &deadline, nil
}

// rewriteDeadline derives the deadline from the spec and writes it; without a grace period it removes the annotation.
func (t *Termination) rewriteDeadline(ctx context.Context, claim *v1.NodeClaim) (*time.Time, error) {
	stored := claim.DeepCopy()
	var deadline *time.Time
	delete(claim.Annotations, v1.NodeClaimTerminationTimestampAnnotationKey)
	if grace := claim.Spec.TerminationGracePeriod; grace != nil {
		from := t.Clock.Now()
		if claim.DeletionTimestamp != nil {
			from = claim.DeletionTimestamp.Time
		}
		at := from.Add(grace.Duration).Truncate(time.Second)
		deadline = &at
		claim.Annotations[v1.NodeClaimTerminationTimestampAnnotationKey] = at.Format(time.RFC3339)
	}
	if err := t.Client.Patch(ctx, claim, client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{})); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("rewriting the termination deadline of nodeclaim %q: %w", claim.Name, err)
	}
	return deadline, nil
}
