// Package v1alpha1 holds the wire types of the API group karpenter.kwok.sh/v1alpha1: KWOKNodeClass, the settings of
// simulated nodes.
//
// Source: spec API, KWOKNodeClass.
//
// +kubebuilder:object:generate=true
// +groupName=karpenter.kwok.sh
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group is the API group of the kwok kinds, and the domain of the labels of simulated nodes.
const Group = "karpenter.kwok.sh"

// SchemeGroupVersion is the group and version of the kinds in this package. It is never changed.
var SchemeGroupVersion = schema.GroupVersion{Group: Group, Version: "v1alpha1"}

// AddToScheme registers the kinds of this package.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(SchemeGroupVersion, &KWOKNodeClass{}, &KWOKNodeClassList{})
	metav1.AddToGroupVersion(s, SchemeGroupVersion)
	return nil
}
