package manifest

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karpenter-anew/karpenter/api/autoscaling/v1beta1"
	kwok "github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/api/v1alpha1"
	"github.com/karpenter-anew/karpenter/internal/prediction"
)

// addKinds registers every kind that is read.
func addKinds(s *runtime.Scheme) error {
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, batchv1.AddToScheme, storagev1.AddToScheme, policyv1.AddToScheme,
		schedulingv1.AddToScheme, schedulingv1beta1.AddToScheme, nodev1.AddToScheme, resourcev1.AddToScheme, v1.AddToScheme, v1alpha1.AddToScheme, opsv1alpha1.AddToScheme, v1beta1.AddToScheme, kwok.AddToScheme,
	} {
		if err := add(s); err != nil {
			return err
		}
	}
	// Its Go type is in a separate module, and few of its fields count.
	s.AddKnownTypeWithName(prediction.Kind(), &unstructured.Unstructured{})
	return nil
}

// clusterScoped reports whether objects of the kind live outside namespaces.
func (r *Reader) clusterScoped(gvk runtimeschema.GroupVersionKind) bool {
	if defined := r.schemas[gvk.String()]; defined != nil {
		return defined.clusterScoped
	}
	switch gvk.Group {
	case "":
		return gvk.Kind == "Node" || gvk.Kind == "Namespace" || gvk.Kind == "PersistentVolume"
	case resourcev1.GroupName:
		return gvk.Kind != "ResourceClaim" && gvk.Kind != "ResourceClaimTemplate"
	case storagev1.GroupName:
		return gvk.Kind != "CSIStorageCapacity"
	case schedulingv1.GroupName:
		return gvk.Kind == "PriorityClass"
	case nodev1.GroupName, v1.Group, kwok.Group:
		return true
	}
	return false
}

// known reports whether the reader should understand the group: an unknown kind in it is a mistake, one elsewhere is none
// of our business.
func (r *Reader) known(group string) bool {
	if group == prediction.Kind().Group {
		return false // it has kinds that do not count
	}
	if group == "" || strings.HasSuffix(group, "karpenter.sh") {
		return true
	}
	return r.scheme.IsGroupRegistered(group)
}
