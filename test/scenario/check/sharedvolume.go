package check

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// sharedVolumes checks the pods that share a volume which is created for the node of the first of them: all must be in one zone. Pods that
// run have their volumes: kube-scheduler binds a pod after its claims.
func (j *judge) sharedVolumes() {
	for _, at := range j.sites {
		for _, pod := range at.arrivals {
			for _, other := range j.sites {
				for _, q := range other.arrivals {
					if q != pod && j.shareLateVolume(pod, q) && !sameZone(at, other) {
						j.fail("pod %s on %s and pod %s on %s share a volume and may be in different zones", pod.Name, at.name, q.Name, other.name)
					}
				}
			}
		}
	}
}

// sameZone reports whether two nodes are certainly in one zone, or both without any.
func sameZone(a, b *plannedNode) bool {
	if a == b {
		return true
	}
	zone, decided := a.decided(corev1.LabelTopologyZone)
	other, otherDecided := b.decided(corev1.LabelTopologyZone)
	if !decided || !otherDecided {
		return len(a.values(corev1.LabelTopologyZone))+len(b.values(corev1.LabelTopologyZone)) == 0
	}
	return zone == other
}

// shareLateVolume reports whether two pods use one claim whose volume is created for the zone of the first pod that uses it.
func (j *judge) shareLateVolume(a, b *corev1.Pod) bool {
	if a.Namespace != b.Namespace || len(a.Spec.Volumes) == 0 || len(b.Spec.Volumes) == 0 {
		return false
	}
	claims, _ := j.claimsOf(a)
	others, _ := j.claimsOf(b)
	return slices.ContainsFunc(claims, func(claim *corev1.PersistentVolumeClaim) bool {
		return slices.Contains(others, claim) && j.late(claim)
	})
}

// late reports whether the volume of a claim will be created when its first pod is scheduled, by a driver that may bind it to a zone.
func (j *judge) late(claim *corev1.PersistentVolumeClaim) bool {
	if claim.Spec.VolumeName != "" || claim.Spec.StorageClassName == nil {
		return false
	}
	class, ok := object[*storagev1.StorageClass](j, *claim.Spec.StorageClassName)
	if !ok || class.VolumeBindingMode == nil || *class.VolumeBindingMode != storagev1.VolumeBindingWaitForFirstConsumer {
		return false
	}
	known, zonal := false, false
	for _, o := range j.Objects {
		node, ok := o.(*storagev1.CSINode)
		if !ok {
			continue
		}
		for _, driver := range node.Spec.Drivers {
			if driver.Name == j.driver(claim) {
				known = true
				zonal = zonal || slices.ContainsFunc(driver.TopologyKeys, func(key string) bool { return strings.HasSuffix(key, "/zone") })
			}
		}
	}
	return zonal || !known
}
