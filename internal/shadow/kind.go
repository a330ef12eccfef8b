package shadow

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/api/v1alpha1"
)

// Kind is a kind of objects that is read.
type Kind struct {
	// Name is that of the kind, New an empty object, List an empty list.
	Name string
	New  func() client.Object
	List func() client.ObjectList
	// Optional kinds may be unknown to the API server.
	Optional bool
	// follow is set for kinds whose objects are kept equal in the mirror.
	follow bool
}

// Kinds are all that are read, those first that others refer to.
func Kinds() []Kind {
	return []Kind{
		{Name: "Namespace", New: func() client.Object { return &corev1.Namespace{} }, List: func() client.ObjectList { return &corev1.NamespaceList{} }, follow: true},
		{Name: "PriorityClass", New: func() client.Object { return &schedulingv1.PriorityClass{} }, List: func() client.ObjectList { return &schedulingv1.PriorityClassList{} }, follow: true},
		{Name: "StorageClass", New: func() client.Object { return &storagev1.StorageClass{} }, List: func() client.ObjectList { return &storagev1.StorageClassList{} }, follow: true},
		{Name: "PersistentVolume", New: func() client.Object { return &corev1.PersistentVolume{} }, List: func() client.ObjectList { return &corev1.PersistentVolumeList{} }, follow: true},
		{Name: "PersistentVolumeClaim", New: func() client.Object { return &corev1.PersistentVolumeClaim{} }, List: func() client.ObjectList { return &corev1.PersistentVolumeClaimList{} }, follow: true},
		{Name: "NodePool", New: func() client.Object { return &v1.NodePool{} }, List: func() client.ObjectList { return &v1.NodePoolList{} }, follow: true},
		{Name: "NodeOverlay", New: func() client.Object { return &v1alpha1.NodeOverlay{} }, List: func() client.ObjectList { return &v1alpha1.NodeOverlayList{} }, follow: true, Optional: true},
		{Name: "DaemonSet", New: func() client.Object { return &appsv1.DaemonSet{} }, List: func() client.ObjectList { return &appsv1.DaemonSetList{} }, follow: true},
		{Name: "PodDisruptionBudget", New: func() client.Object { return &policyv1.PodDisruptionBudget{} }, List: func() client.ObjectList { return &policyv1.PodDisruptionBudgetList{} }, follow: true},
		{Name: "NodeClaim", New: func() client.Object { return &v1.NodeClaim{} }, List: func() client.ObjectList { return &v1.NodeClaimList{} }},
		{Name: "Node", New: func() client.Object { return &corev1.Node{} }, List: func() client.ObjectList { return &corev1.NodeList{} }},
		{Name: "Pod", New: func() client.Object { return &corev1.Pod{} }, List: func() client.ObjectList { return &corev1.PodList{} }},
	}
}

// kindOf is the name of the kind of an object; empty if it is none of Kinds.
func kindOf(o client.Object) string {
	switch o.(type) {
	case *corev1.Namespace:
		return "Namespace"
	case *schedulingv1.PriorityClass:
		return "PriorityClass"
	case *storagev1.StorageClass:
		return "StorageClass"
	case *corev1.PersistentVolume:
		return "PersistentVolume"
	case *corev1.PersistentVolumeClaim:
		return "PersistentVolumeClaim"
	case *v1.NodePool:
		return "NodePool"
	case *v1alpha1.NodeOverlay:
		return "NodeOverlay"
	case *appsv1.DaemonSet:
		return "DaemonSet"
	case *policyv1.PodDisruptionBudget:
		return "PodDisruptionBudget"
	case *v1.NodeClaim:
		return "NodeClaim"
	case *corev1.Node:
		return "Node"
	case *corev1.Pod:
		return "Pod"
	default:
		return ""
	}
}
