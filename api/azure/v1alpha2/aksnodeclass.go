package v1alpha2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
)

// AKSNodeClass holds the settings of AKS nodes that are not requirements of a NodePool: network, image, disk, security, kubelet and
// operating system.
//
// +kubebuilder:object:root=true
// +kubebuilder:deprecatedversion:warning="use v1beta1.AKSNodeClass instead"
// +kubebuilder:resource:path=aksnodeclasses,scope=Cluster,categories={karpenter,nap},shortName={aksnc,aksncs}
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description=""
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description=""
// +kubebuilder:printcolumn:name="ImageFamily",type="string",JSONPath=".spec.imageFamily",priority=1,description=""
type AKSNodeClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state of the nodes.
	// +optional
	Spec v1beta1.AKSNodeClassSpec `json:"spec,omitempty"`
	// status is what the settings were resolved to.
	// +optional
	Status v1beta1.AKSNodeClassStatus `json:"status,omitzero"`
}

// AKSNodeClassList is a list of AKSNodeClasses.
//
// +kubebuilder:object:root=true
type AKSNodeClassList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []AKSNodeClass `json:"items"`
}
