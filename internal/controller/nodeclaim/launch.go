package nodeclaim

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/condition"
	"github.com/karpenter-anew/karpenter/api/podrules"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// maxMessage bounds the error text of the provider in a condition, in bytes, before the ellipsis.
const maxMessage = 300

// launch creates the instance, once: the result is kept until Launched=True has been read back.
func (l *Lifecycle) launch(ctx context.Context, claim *v1.NodeClaim) outcome {
	now := l.Clock.Now()
	if decided(claim, v1.ConditionTypeLaunched, now) {
		l.launched.Delete(claim.UID)
		return outcome{}
	}
	created, ok := l.launched.Get(claim.UID)
	if !ok {
		var err error
		if created, err = l.create(ctx, claim); err != nil {
			return l.launchFailed(ctx, claim, err)
		}
		l.launched.Set(claim.UID, created)
		l.Creations.Exists(claim.Name)
		observe.Log(ctx).Info("launched nodeclaim", logfield.ProviderID(created.Status.ProviderID),
			logfield.InstanceType(created.Labels[corev1.LabelInstanceTypeStable]), logfield.Zone(created.Labels[corev1.LabelTopologyZone]),
			logfield.CapacityType(created.Labels[v1.CapacityTypeLabelKey]), logfield.Allocatable(created.Status.Allocatable))
	}
	adopt(claim, created)
	condition.For(claim, l.Clock.Now()).True(v1.ConditionTypeLaunched)
	return outcome{}
}

// create calls the provider. The call is known to the collector of instances while it runs.
func (l *Lifecycle) create(ctx context.Context, claim *v1.NodeClaim) (*v1.NodeClaim, error) {
	defer l.launches.begin()()
	return l.Cloud.Provider.Create(ctx, claim)
}

// launchFailed handles an error of the provider: for insufficient capacity and a NodeClass that is not ready it deletes the NodeClaim,
// so that its pods are scheduled again; others are shown in the condition and retried until the launch timeout.
func (l *Lifecycle) launchFailed(ctx context.Context, claim *v1.NodeClaim, cause error) outcome {
	switch {
	case cloud.IsInsufficientCapacity(cause):
		l.Recorder.Publish(observe.InsufficientCapacity(claim, cause))
		l.tellPods(ctx, claim, cause)
		observe.Log(ctx).Error("failed launching nodeclaim", logfield.Error(cause))
		return l.deleteFailed(ctx, claim, "insufficient_capacity")
	case cloud.IsNodeClassNotReady(cause):
		observe.Log(ctx).Error("failed launching nodeclaim", logfield.Error(cause))
		return l.deleteFailed(ctx, claim, "nodeclass_not_ready")
	}
	reason, message := "LaunchFailed", cause.Error()
	if create, ok := cloud.AsCreateError(cause); ok {
		reason, message = create.Reason, create.Message
	}
	condition.For(claim, l.Clock.Now()).Unknown(v1.ConditionTypeLaunched, reason, truncate(message))
	return outcome{err: fmt.Errorf("launching nodeclaim %q: %w", claim.Name, cause)}
}

// tellPods publishes for the pods that need the NodeClaim that it is not launched, unless they have a place meanwhile or are going.
func (l *Lifecycle) tellPods(ctx context.Context, claim *v1.NodeClaim, cause error) {
	l.Creations.Exists(claim.Name) // the creator may not know yet that it exists
	for _, planned := range l.Planned.Take(claim.Name) {
		pod := &corev1.Pod{}
		err := l.Client.Get(ctx, planned.NamespacedName, pod)
		if err != nil || pod.UID != planned.UID || pod.Spec.NodeName != "" || !podrules.Active(pod) {
			continue // events are a courtesy: a pod that cannot be read hears about the next failure
		}
		l.Recorder.Publish(observe.PodNotLaunched(pod, claim.Name, cause))
	}
}

// adopt copies the status of the created instance into the NodeClaim. On conflicts the labels of the NodeClaim and the annotations of
// the provider win.
func adopt(claim, created *v1.NodeClaim) {
	claim.Labels = overlaid(created.Labels, claim.Labels)
	claim.Annotations = overlaid(claim.Annotations, created.Annotations)
	claim.Status.ProviderID = created.Status.ProviderID
	claim.Status.ImageID = created.Status.ImageID
	claim.Status.Allocatable = created.Status.Allocatable.DeepCopy()
	claim.Status.Capacity = created.Status.Capacity.DeepCopy()
}

// overlaid is base with the entries of over added or replaced; nil when both are empty.
func overlaid(base, over map[string]string) map[string]string {
	if len(base) == 0 && len(over) == 0 {
		return nil
	}
	out := make(map[string]string, len(base)+len(over))
	maps.Copy(out, base)
	maps.Copy(out, over)
	return out
}

// truncate bounds a text to maxMessage bytes plus an ellipsis, between characters.
func truncate(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	return strings.ToValidUTF8(text[:maxMessage], "") + "..."
}

// decided reports whether a condition is not Unknown. If so it is written again, so that its observed generation follows the
// NodeClaim.
func decided(claim *v1.NodeClaim, conditionType string, now time.Time) bool {
	set := condition.For(claim, now)
	c := set.Get(conditionType)
	switch c.Status {
	case metav1.ConditionTrue:
		set.TrueWithReason(conditionType, c.Reason, c.Message)
		return true
	case metav1.ConditionFalse:
		set.False(conditionType, c.Reason, c.Message)
		return true
	default:
		return false
	}
}
