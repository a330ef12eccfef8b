// Package v1alpha1 holds the AWSNodeTemplate of karpenter.k8s.aws/v1alpha1, which EC2NodeClasses have replaced, so that
// clusters can go on using it. Only that it is an object is checked here; what it means today is worked out when it is
// converted.
//
// +kubebuilder:object:generate=true
// +groupName=karpenter.k8s.aws
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karpenter-anew/karpenter/api/condition"
)

// SchemeGroupVersion is the group and version of the kinds in this package. It is never changed.
var SchemeGroupVersion = schema.GroupVersion{Group: "karpenter.k8s.aws", Version: "v1alpha1"}

// AddToScheme registers the kinds of this package.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(SchemeGroupVersion, &AWSNodeTemplate{}, &AWSNodeTemplateList{})
	metav1.AddToGroupVersion(s, SchemeGroupVersion)
	return nil
}

// AWSNodeTemplate is what an EC2NodeClass was called.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=awsnodetemplates,scope=Cluster,categories=karpenter
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Active",type="string",JSONPath=".status.conditions[?(@.type==\"Active\")].status",description=""
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description=""
type AWSNodeTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec holds the settings of instances.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type:="object"
	// +optional
	Spec *runtime.RawExtension `json:"spec,omitempty"`
	// status tells whether there is an EC2NodeClass for it.
	// +optional
	Status AWSNodeTemplateStatus `json:"status,omitzero"`
}

// AWSNodeTemplateList is a list of AWSNodeTemplates.
//
// +kubebuilder:object:root=true
type AWSNodeTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []AWSNodeTemplate `json:"items"`
}

// AWSNodeTemplateStatus is the observed state of an AWSNodeTemplate.
type AWSNodeTemplateStatus struct {
	// conditions tell whether there is an EC2NodeClass for it, and why not.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ConditionTypeActive is True while the EC2NodeClass is kept as the template wants it, and does not say that it is not ready.
const ConditionTypeActive = "Active"

// ConditionList implements condition.Object.
func (t *AWSNodeTemplate) ConditionList() *[]metav1.Condition { return &t.Status.Conditions }

// ConditionTypes implements condition.Object.
func (t *AWSNodeTemplate) ConditionTypes() condition.Types {
	return condition.Types{Root: ConditionTypeActive}
}
