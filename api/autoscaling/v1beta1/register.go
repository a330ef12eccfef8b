// Package v1beta1 holds the wire types of the API group autoscaling.x-k8s.io/v1beta1: CapacityBuffer, spare
// capacity for future pods. The kind is shared with other autoscalers of Kubernetes; its form is theirs as well.
//
// Source: spec API, CapacityBuffer.
//
// +kubebuilder:object:generate=true
// +groupName=autoscaling.x-k8s.io
package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group is the API group that Kubernetes' autoscalers share.
const Group = "autoscaling.x-k8s.io"

// SchemeGroupVersion is the group and version of the kinds in this package. It is never changed.
var SchemeGroupVersion = schema.GroupVersion{Group: Group, Version: "v1beta1"}

// AddToScheme registers the kinds of this package.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(SchemeGroupVersion, &CapacityBuffer{}, &CapacityBufferList{})
	metav1.AddToGroupVersion(s, SchemeGroupVersion)
	return nil
}
