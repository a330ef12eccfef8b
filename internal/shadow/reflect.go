package shadow

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "k8s.io/api/apps/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// dropped are annotations of real objects that mean nothing in the mirror, or something else.
func dropped() []string {
	return []string{
		corev1.LastAppliedConfigAnnotation, v1.NodePoolHashAnnotationKey, v1.NodePoolHashVersionAnnotationKey, v1.NodePoolSnapshotHashAnnotationKey,
	}
}

// reflect is the object of the mirror for a real one.
func (m *Mirror) reflect(source client.Object) client.Object {
	out, _ := source.DeepCopyObject().(client.Object)
	strip(out)
	switch o := out.(type) {
	case *corev1.Namespace:
		o.Spec, o.Status = corev1.NamespaceSpec{}, corev1.NamespaceStatus{}
	case *v1.NodePool:
		o.Status = v1.NodePoolStatus{}
		class := m.settings.NodeClass
		o.Spec.Template.Spec.NodeClassRef = &class
	case *appsv1.DaemonSet:
		o.Status = appsv1.DaemonSetStatus{}
	case *policyv1.PodDisruptionBudget:
		reflectBudget(o)
	case *corev1.PersistentVolume:
		if o.Spec.ClaimRef != nil {
			o.Spec.ClaimRef.UID, o.Spec.ClaimRef.ResourceVersion = "", ""
		}
	}
	return out
}

// strip removes what the API server or other controllers set.
func strip(o client.Object) {
	annotations := maps.Clone(o.GetAnnotations())
	for _, key := range dropped() {
		delete(annotations, key)
	}
	o.SetAnnotations(annotations)
	o.SetResourceVersion("")
	o.SetUID("")
	o.SetGeneration(0)
	o.SetCreationTimestamp(metav1.Time{})
	o.SetDeletionTimestamp(nil)
	o.SetDeletionGracePeriodSeconds(nil)
	o.SetOwnerReferences(nil)
	o.SetFinalizers(nil)
	o.SetManagedFields(nil)
	o.SetGenerateName("")
}

// reflectBudget states the budget as a number of pods. The mirror has no workloads whose replicas a percentage could refer to; the real
// cluster has worked out what it amounts to.
func reflectBudget(o *policyv1.PodDisruptionBudget) {
	if o.Status.ObservedGeneration > 0 || o.Status.ExpectedPods > 0 {
		least := intstr.FromInt32(o.Status.DesiredHealthy)
		o.Spec.MinAvailable, o.Spec.MaxUnavailable = &least, nil
	}
	o.Status = policyv1.PodDisruptionBudgetStatus{}
}
