package generator

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// lateClass is a storage class that waits for the first consumer of a claim.
const lateClass = "late"

// driverName is the CSI driver of all volumes.
const driverName = "disk.example.com"

// storage adds a few claims, bound to volumes of a zone or waiting for their first consumer, so that pods share them.
func (d *draw) storage() {
	late := storagev1.VolumeBindingWaitForFirstConsumer
	class := &storagev1.StorageClass{
		TypeMeta:   metav1.TypeMeta{APIVersion: "storage.k8s.io/v1", Kind: "StorageClass"},
		ObjectMeta: metav1.ObjectMeta{Name: lateClass}, Provisioner: driverName, VolumeBindingMode: &late,
	}
	if d.one(3) {
		class.AllowedTopologies = []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{
			Key: corev1.LabelTopologyZone, Values: some(d, 2, d.words(corev1.LabelTopologyZone)...),
		}}}}
	}
	d.add(class)
	for i := range 3 {
		d.claims = append(d.claims, d.claim(i))
	}
}

func (d *draw) claim(i int) string {
	name := fmt.Sprintf("claim-%d", i)
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	mode := []corev1.PersistentVolumeAccessMode{pick(d, corev1.ReadWriteOnce, corev1.ReadWriteMany)}
	if d.has(SingleUse, 6) {
		mode = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
	}
	claim := &corev1.PersistentVolumeClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name},
	}
	claim.Spec.AccessModes, claim.Spec.Resources.Requests = mode, size
	if d.has(SharedLateClaims, 2) {
		claim.Spec.StorageClassName = new(lateClass)
		d.add(claim)
		return name
	}
	volume := &corev1.PersistentVolume{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolume"}, ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("volume-%d", i)},
	}
	volume.Spec.Capacity, volume.Spec.AccessModes = size, mode
	volume.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: driverName, VolumeHandle: volume.Name}
	volume.Spec.ClaimRef = &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name}
	if !d.one(4) {
		volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{
				Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: some(d, 2, d.words(corev1.LabelTopologyZone)...),
			}},
		}}}}
	}
	claim.Spec.StorageClassName, claim.Spec.VolumeName = new(""), volume.Name
	d.add(volume)
	d.add(claim)
	return name
}

// volumes gives a pod one or two of the claims, or one that no other pod uses.
func (d *draw) volumes(spec *corev1.PodSpec) {
	if d.one(2) || len(d.claims) == 0 {
		template := &corev1.PersistentVolumeClaimTemplate{}
		template.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
		template.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
		template.Spec.StorageClassName = new(lateClass)
		spec.Volumes = []corev1.Volume{{Name: "own", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: template}}}}
		return
	}
	for i, name := range some(d, 2, d.claims...) {
		spec.Volumes = append(spec.Volumes, corev1.Volume{
			Name:         fmt.Sprintf("v%d", i),
			VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}},
		})
	}
}
