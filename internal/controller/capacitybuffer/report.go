package capacitybuffer

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/autoscaling/v1beta1"
	"github.com/karpenter-anew/karpenter/internal/buffer"
	"github.com/karpenter-anew/karpenter/internal/controller/parallel"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// maxAttempts is how often a condition is written when writes conflict.
const maxAttempts = 3

// outcome is where the virtual pods of one buffer were placed.
type outcome struct {
	// existing fit on existing nodes, fresh need a node that is launched, failed fit no node, and open were not decided.
	existing, fresh, failed, open int
}

// Report writes to the status of every buffer where its virtual pods were placed. Conditions that cannot be written are logged;
// the next pass writes them.
func (s *Buffers) Report(ctx context.Context, plan solve.Plan) {
	tallies := outcomesOf(plan)
	var list v1beta1.CapacityBufferList
	if err := s.Client.List(ctx, &list); err != nil {
		s.Log.Error("cannot update the status of capacity buffers", logfield.Error(err))
		return
	}
	parallel.Times(len(list.Items), concurrency, func(i int) error {
		b := &list.Items[i]
		if err := s.writeProvisioning(ctx, b, tallies[keyOf(b)]); err != nil {
			s.Log.Error("cannot update the status of a capacity buffer", logfield.CapacityBuffer(keyOf(b)), logfield.Error(err))
		}
		return nil
	})
}

// writeProvisioning writes the condition Provisioning of one buffer.
func (s *Buffers) writeProvisioning(ctx context.Context, b *v1beta1.CapacityBuffer, t outcome) error {
	for attempt := 1; ; attempt++ {
		stored := b.DeepCopy()
		condition, ok := provisioningCondition(b, t)
		if !ok || !s.set(b, condition) {
			return nil
		}
		err := s.writeStatus(ctx, stored, b)
		if err == nil || apierrors.IsNotFound(err) {
			return nil
		}
		if !apierrors.IsConflict(err) || attempt == maxAttempts {
			return err
		}
		if err := s.Client.Get(ctx, client.ObjectKeyFromObject(b), b); err != nil {
			return client.IgnoreNotFound(err)
		}
	}
}

// provisioningCondition is the condition Provisioning for an outcome; false when the outcome does not change it.
func provisioningCondition(b *v1beta1.CapacityBuffer, t outcome) (metav1.Condition, bool) {
	desired := int32(0)
	if b.Status.Replicas != nil {
		desired = *b.Status.Replicas
	}
	switch {
	case !ready(b):
		return notReady(), true
	case desired == 0:
		return provisioning(metav1.ConditionFalse, v1beta1.ReasonBufferEmpty, "the buffer has no virtual pods"), true
	case t.fresh > 0 || t.failed > 0:
		return provisioning(metav1.ConditionFalse, v1beta1.ReasonRequiresNewCapacity,
			fmt.Sprintf("%d/%d virtual pods required new capacity, %d failed", t.fresh, desired, t.failed)), true
	case t.open > 0 || t.existing == 0:
		return metav1.Condition{}, false
	}
	return provisioning(metav1.ConditionTrue, v1beta1.ReasonFitsExistingCapacity,
		fmt.Sprintf("All %d virtual pods fit on existing capacity", t.existing)), true
}

func notReady() metav1.Condition {
	return provisioning(metav1.ConditionFalse, v1beta1.ReasonNotReadyForProvisioning, "the buffer is not ready for provisioning")
}

func provisioning(status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: v1beta1.ConditionTypeProvisioning, Status: status, Reason: reason, Message: message}
}

// outcomesOf counts the virtual pods of a plan by buffer.
func outcomesOf(plan solve.Plan) map[string]outcome {
	out := map[string]outcome{}
	count := func(pods []*model.Pod, add func(*outcome)) {
		for _, p := range pods {
			if p.Virtual {
				key := buffer.Of(p).String()
				t := out[key]
				add(&t)
				out[key] = t
			}
		}
	}
	for _, placed := range plan.Placements {
		count(placed.Pods, func(t *outcome) { t.existing++ })
	}
	for _, claim := range plan.NodeClaims {
		count(claim.Pods, func(t *outcome) { t.fresh++ })
	}
	for _, refusal := range plan.Unschedulable {
		count(refusal.Pods, func(t *outcome) { t.failed++ })
	}
	count(plan.Undecided, func(t *outcome) { t.open++ })
	count(plan.Deferred, func(t *outcome) { t.open++ })
	return out
}
