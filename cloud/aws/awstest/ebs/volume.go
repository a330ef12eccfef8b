package ebs

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
)

// Annotations that scheduler and provisioner exchange.
const (
	selectedNode  = "volume.kubernetes.io/selected-node"
	provisionedBy = "pv.kubernetes.io/provisioned-by"
)

// serveClaims provisions volumes for pending claims and deletes released volumes.
func (d *Driver) serveClaims(ctx context.Context, seen *view) {
	made := map[string]bool{}
	for i := range seen.volumes.Items {
		v := &seen.volumes.Items[i]
		made[v.Name] = true
		given := v.Status.Phase == corev1.VolumeReleased && v.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete
		if given && v.DeletionTimestamp == nil && v.Annotations[provisionedBy] == Name {
			_ = d.o.Client.Delete(ctx, v)
		}
	}
	for i := range seen.claims.Items {
		claim := &seen.claims.Items[i]
		if claim.Spec.VolumeName != "" || claim.DeletionTimestamp != nil || made[volumeName(claim)] {
			continue
		}
		at := slices.IndexFunc(seen.classes.Items, func(c storagev1.StorageClass) bool {
			return claim.Spec.StorageClassName != nil && c.Name == *claim.Spec.StorageClassName && c.Provisioner == Name
		})
		if at < 0 {
			continue
		}
		if zone := zoneFor(claim, &seen.classes.Items[at], seen.nodes.Items, d.o.Account.Region()); zone != "" {
			_ = d.o.Client.Create(ctx, volume(claim, &seen.classes.Items[at], zone))
		}
	}
}

// zoneFor is the zone of a claim's volume: the zone of the node that the scheduler chose for the pod, or the first zone that the class
// allows, or the first of the region; empty while the scheduler has not chosen.
func zoneFor(claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass, nodes []corev1.Node, region string) string {
	if class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer {
		at := slices.IndexFunc(nodes, func(n corev1.Node) bool { return n.Name == claim.Annotations[selectedNode] })
		if at < 0 {
			return ""
		}
		return nodes[at].Labels[ZoneLabel]
	}
	for _, term := range class.AllowedTopologies {
		for _, e := range term.MatchLabelExpressions {
			if e.Key == ZoneLabel && len(e.Values) > 0 {
				return e.Values[0]
			}
		}
	}
	return region + awstest.Zones[:1]
}

// volumeName is the name of the volume of a claim.
func volumeName(claim *corev1.PersistentVolumeClaim) string { return "pvc-" + string(claim.UID) }

// volume is a volume for a claim, usable in its zone.
func volume(claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass, zone string) *corev1.PersistentVolume {
	out := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: volumeName(claim), Annotations: map[string]string{provisionedBy: Name}}}
	out.Spec = corev1.PersistentVolumeSpec{
		Capacity: corev1.ResourceList{corev1.ResourceStorage: claim.Spec.Resources.Requests[corev1.ResourceStorage]}, AccessModes: claim.Spec.AccessModes,
		StorageClassName: class.Name, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
		ClaimRef: &corev1.ObjectReference{
			APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID, ResourceVersion: claim.ResourceVersion,
		},
		PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: Name, VolumeHandle: "vol-" + string(claim.UID)}},
		NodeAffinity:           InZone(zone),
	}
	if class.ReclaimPolicy != nil {
		out.Spec.PersistentVolumeReclaimPolicy = *class.ReclaimPolicy
	}
	return out
}

// InZone restricts a volume to a zone, in the form that the driver writes.
func InZone(zone string) *corev1.VolumeNodeAffinity {
	return &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
		{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: ZoneLabel, Operator: corev1.NodeSelectorOpIn, Values: []string{zone}}}},
	}}}
}
