package manifest

import (
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	volumehelpers "k8s.io/component-helpers/storage/volume"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// bindCompleted is the annotation that the volume controller sets on a claim once it is bound.
	bindCompleted = volumehelpers.AnnBindCompleted
	// The annotations that make a storage class the default, the current and the deprecated one.
	defaultClass     = "storageclass.kubernetes.io/is-default-class"
	defaultClassBeta = "storageclass.beta.kubernetes.io/is-default-class"
)

// storage holds the objects about volumes in a manifest.
type storage struct {
	claims  map[string]bool // by namespace/name
	volumes []*corev1.PersistentVolume
	// standard is the default class.
	standard *storagev1.StorageClass
}

// collect records the objects that claims refer to.
func (s *storage) collect(o client.Object) {
	switch o := o.(type) {
	case *corev1.PersistentVolumeClaim:
		s.claims[o.Namespace+"/"+o.Name] = true
	case *corev1.PersistentVolume:
		s.volumes = append(s.volumes, o)
	case *storagev1.StorageClass:
		if isDefault(o) && (s.standard == nil || newer(o, s.standard)) {
			s.standard = o
		}
	}
}

func isDefault(class *storagev1.StorageClass) bool {
	return class.Annotations[defaultClass] == "true" || class.Annotations[defaultClassBeta] == "true"
}

// newer reports whether a comes before b where both are the default: the one that was created later, then by name.
func newer(a, b *storagev1.StorageClass) bool {
	if a.CreationTimestamp.Time.Equal(b.CreationTimestamp.Time) {
		return a.Name < b.Name
	}
	return a.CreationTimestamp.After(b.CreationTimestamp.Time)
}

// admitClass completes a class in place.
func admitClass(class *storagev1.StorageClass) {
	if class.VolumeBindingMode == nil {
		mode := storagev1.VolumeBindingImmediate
		class.VolumeBindingMode = &mode
	}
}

// admit completes a claim in place: the default class when it names none, and the binding by the volume controller
// when claim or volume name each other. No other claim is bound: that requires a provisioner, or a scheduled pod.
func (s *storage) admit(claim *corev1.PersistentVolumeClaim) {
	if claim.Spec.StorageClassName == nil && s.standard != nil {
		claim.Spec.StorageClassName = &s.standard.Name
	}
	if _, bound := claim.Annotations[bindCompleted]; !bound {
		s.bind(claim)
	}
	if claim.Status.Phase == "" {
		claim.Status.Phase = corev1.ClaimPending
		if _, bound := claim.Annotations[bindCompleted]; bound {
			claim.Status.Phase = corev1.ClaimBound
		}
	}
}

// bind binds a claim to the volume that one of them names; of several volumes that name it the first by name.
func (s *storage) bind(claim *corev1.PersistentVolumeClaim) {
	var found *corev1.PersistentVolume
	for _, v := range s.volumes {
		if agree(claim, v) && (found == nil || v.Name < found.Name) {
			found = v
		}
	}
	if found == nil {
		return
	}
	claim.Spec.VolumeName = found.Name
	if claim.Annotations == nil {
		claim.Annotations = map[string]string{}
	}
	claim.Annotations[bindCompleted] = "yes"
}

func agree(claim *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) bool {
	ref := v.Spec.ClaimRef
	mine := ref != nil && ref.Namespace == claim.Namespace && ref.Name == claim.Name
	switch {
	case v.DeletionTimestamp != nil:
		return false
	case claim.Spec.VolumeName == "":
		return mine
	default:
		return v.Name == claim.Spec.VolumeName && (mine || ref == nil)
	}
}

// statefulClaims gives the i-th pod of a set its claims, which are called <template>-<set>-<i>.
func (e *expansion) statefulClaims(set *appsv1.StatefulSet, pod *corev1.Pod, i int) {
	for _, template := range set.Spec.VolumeClaimTemplates {
		claim := template.DeepCopy()
		claim.Name = template.Name + "-" + set.Name + "-" + strconv.Itoa(i)
		if set.Spec.Selector != nil {
			claim.Labels = set.Spec.Selector.DeepCopy().MatchLabels
		}
		source := corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name}}
		pod.Spec.Volumes = slices.DeleteFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == template.Name })
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: template.Name, VolumeSource: source})
		e.claim(pod.Namespace, claim)
	}
}

// ephemeralClaims makes the claims of a pod's generic ephemeral volumes.
func (e *expansion) ephemeralClaims(pod *corev1.Pod) {
	for _, v := range pod.Spec.Volumes {
		if v.Ephemeral == nil || v.Ephemeral.VolumeClaimTemplate == nil {
			continue
		}
		template, is := v.Ephemeral.VolumeClaimTemplate.DeepCopy(), true
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
		claim.Name = pod.Name + "-" + v.Name
		claim.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: &is, BlockOwnerDeletion: &is,
		}}
		e.claim(pod.Namespace, claim)
	}
}

// claim adds a generated claim, unless one of that name is described.
func (e *expansion) claim(namespace string, claim *corev1.PersistentVolumeClaim) {
	id := namespace + "/" + claim.Name
	if e.storage.claims[id] {
		return
	}
	e.storage.claims[id] = true
	claim.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"}
	claim.Namespace = namespace
	claim.UID = uidOf("persistentvolumeclaim", namespace, claim.Name)
	e.storage.admit(claim)
	e.out = append(e.out, claim)
}
