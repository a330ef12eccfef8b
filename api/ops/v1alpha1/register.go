// Package v1alpha1 holds the wire types of the API group ops.karpenter.sh/v1alpha1: OperationsPolicy, when nodes may be disrupted and how
// much they may cost, and DisruptionPlan, disruption that waits to be approved.
//
// Source: docs/operations-policy.md, docs/disruption-plans.md.
//
// +kubebuilder:object:generate=true
// +groupName=ops.karpenter.sh
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group is the API group of the kinds in this package.
const Group = "ops.karpenter.sh"

// SchemeGroupVersion is the group and version of the kinds in this package. It is never changed.
var SchemeGroupVersion = schema.GroupVersion{Group: Group, Version: "v1alpha1"}

// AddToScheme registers the kinds of this package.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(SchemeGroupVersion, &OperationsPolicy{}, &OperationsPolicyList{}, &DisruptionPlan{}, &DisruptionPlanList{})
	metav1.AddToGroupVersion(s, SchemeGroupVersion)
	return nil
}
