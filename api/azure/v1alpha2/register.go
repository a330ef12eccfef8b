// Package v1alpha2 holds the deprecated version karpenter.azure.com/v1alpha2 of AKSNodeClass. It is served so that manifests that name it
// still work, and has the fields of v1beta1, which is the version that is stored and that controllers use.
//
// Source: Azure provider specification, AKSNodeClass API.
//
// +kubebuilder:object:generate=true
// +groupName=karpenter.azure.com
package v1alpha2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
)

// SchemeGroupVersion is the group and version of the kinds in this package. It is never changed.
var SchemeGroupVersion = schema.GroupVersion{Group: v1beta1.Group, Version: "v1alpha2"}

// AddToScheme registers the kinds of this package.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(SchemeGroupVersion, &AKSNodeClass{}, &AKSNodeClassList{})
	metav1.AddToGroupVersion(s, SchemeGroupVersion)
	return nil
}
