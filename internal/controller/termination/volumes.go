package termination

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/condition"
	"github.com/karpenter-anew/karpenter/api/podrules"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/nodelookup"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

const reasonElapsed = "TerminationGracePeriodElapsed"

// detach waits until the attach-detach controller has detached the volumes of the evicted pods.
func (t *Termination) detach(ctx context.Context, d terminating) stepResult {
	now := t.Clock.Now()
	waiting, err := t.attachments(ctx, d.node.Name, now)
	if err != nil {
		return stepResult{err: err}
	}
	late := d.deadline != nil && now.After(*d.deadline)
	if d.claim != nil {
		set := condition.For(d.claim, now)
		switch {
		case len(waiting) == 0:
			set.True(v1.ConditionTypeVolumesDetached)
		case late:
			set.False(v1.ConditionTypeVolumesDetached, reasonElapsed, reasonElapsed)
		default:
			set.Unknown(v1.ConditionTypeVolumesDetached, "AwaitingVolumeDetachment", "AwaitingVolumeDetachment")
		}
	}
	if len(waiting) == 0 || late {
		return stepResult{}
	}
	t.Recorder.Publish(observe.AwaitingVolumeDetachment(d.node, waiting))
	return stepResult{after: time.Second}
}

// attachments names the VolumeAttachments that must be deleted before the instance is terminated: all of the Node, except those of pods
// that are not drained.
func (t *Termination) attachments(ctx context.Context, nodeName string, now time.Time) ([]string, error) {
	var list storagev1.VolumeAttachmentList
	if err := t.Client.List(ctx, &list, client.MatchingFields{nodelookup.AttachmentNode: nodeName}); err != nil {
		return nil, fmt.Errorf("listing volume attachments of node %q: %w", nodeName, err)
	}
	if len(list.Items) == 0 {
		return nil, nil
	}
	pods, err := nodelookup.PodsOn(ctx, t.Client, nodeName)
	if err != nil {
		return nil, err
	}
	kept := map[string]bool{}
	for i := range pods {
		if podrules.Drainable(&pods[i], now) {
			continue
		}
		for _, claimName := range volumeClaims(&pods[i]) {
			volume, err := t.volumeOf(ctx, pods[i].Namespace, claimName)
			if err != nil {
				return nil, err
			}
			kept[volume] = true
		}
	}
	var out []string
	for i := range list.Items {
		volume := list.Items[i].Spec.Source.PersistentVolumeName
		if volume != nil && *volume != "" && !kept[*volume] {
			out = append(out, list.Items[i].Name)
		}
	}
	slices.Sort(out)
	return out, nil
}

// volumeClaims names the PersistentVolumeClaims of a pod; a generic ephemeral volume has one named after both.
func volumeClaims(pod *corev1.Pod) []string {
	var out []string
	for _, volume := range pod.Spec.Volumes {
		switch {
		case volume.PersistentVolumeClaim != nil:
			out = append(out, volume.PersistentVolumeClaim.ClaimName)
		case volume.Ephemeral != nil:
			out = append(out, pod.Name+"-"+volume.Name)
		}
	}
	return out
}

// volumeOf returns the name of the volume bound to a PersistentVolumeClaim; empty if the claim does not exist.
func (t *Termination) volumeOf(ctx context.Context, namespace, name string) (string, error) {
	claim := &corev1.PersistentVolumeClaim{}
	err := t.Client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, claim)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("getting persistent volume claim %s/%s: %w", namespace, name, err)
	}
	return claim.Spec.VolumeName, nil
}
