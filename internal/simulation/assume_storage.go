package simulation

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// standardClass is the name of the class that is assumed for claims that name none.
const standardClass = "default"

// AssumeStorageClasses adds the storage classes that claims refer to, as existing and as provisioning volumes in any zone, so
// that workloads can be simulated without the manifests of their cluster. It does so only if there is no storage class. The
// result is a new list; its objects are not changed.
func AssumeStorageClasses(objects []client.Object) ([]client.Object, []AssumedClass) {
	out := slices.Clone(objects)
	names := map[string]bool{}
	for i, o := range objects {
		switch o := o.(type) {
		case *storagev1.StorageClass:
			return slices.Clone(objects), nil
		case *corev1.PersistentVolumeClaim:
			if o.Spec.VolumeName != "" || o.Spec.StorageClassName != nil && *o.Spec.StorageClassName == "" {
				continue
			}
			claim := o.DeepCopy()
			if claim.Spec.StorageClassName == nil {
				name := standardClass
				claim.Spec.StorageClassName = &name
			}
			out[i] = claim
			names[*claim.Spec.StorageClassName] = true
		}
	}
	var assumed []AssumedClass
	for _, name := range slices.Sorted(maps.Keys(names)) {
		late := storagev1.VolumeBindingWaitForFirstConsumer
		out = append(out, &storagev1.StorageClass{
			TypeMeta:          metav1.TypeMeta{APIVersion: "storage.k8s.io/v1", Kind: "StorageClass"},
			ObjectMeta:        metav1.ObjectMeta{Name: name},
			VolumeBindingMode: &late,
		})
		assumed = append(assumed, AssumedClass{"StorageClass", name})
	}
	return out, assumed
}
