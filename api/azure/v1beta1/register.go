// Package v1beta1 holds the wire types of the API group karpenter.azure.com/v1beta1: AKSNodeClass, the settings of the virtual machines of
// AKS nodes.
//
// Source: Azure provider specification, AKSNodeClass API.
//
// +kubebuilder:object:generate=true
// +groupName=karpenter.azure.com
package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group is the API group of the Azure kinds, and the domain of labels of AKS nodes.
const Group = "karpenter.azure.com"

// SchemeGroupVersion is the group and version of the kinds in this package. It is never changed.
var SchemeGroupVersion = schema.GroupVersion{Group: Group, Version: "v1beta1"}

// AddToScheme registers the kinds of this package.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(SchemeGroupVersion, &AKSNodeClass{}, &AKSNodeClassList{})
	metav1.AddToGroupVersion(s, SchemeGroupVersion)
	return nil
}
