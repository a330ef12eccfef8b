// Package v1 holds the wire types of the API group karpenter.k8s.aws/v1: EC2NodeClass, the settings of EC2 instances, and
// the labels, annotations and tags of instances.
//
// Source: AWS provider specification, EC2NodeClass API.
//
// +kubebuilder:object:generate=true
// +groupName=karpenter.k8s.aws
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group is the API group of the AWS kinds, and the domain of the labels of EC2 instances.
const Group = "karpenter.k8s.aws"

// SchemeGroupVersion is the group and version of the kinds in this package. It is never changed.
var SchemeGroupVersion = schema.GroupVersion{Group: Group, Version: "v1"}

// AddToScheme registers the kinds of this package.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(SchemeGroupVersion, &EC2NodeClass{}, &EC2NodeClassList{})
	metav1.AddToGroupVersion(s, SchemeGroupVersion)
	return nil
}
