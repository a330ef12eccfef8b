// Package v1alpha5 holds the Provisioner of karpenter.sh/v1alpha5, which NodePools have replaced, so that clusters can go on
// using it. Only its shape is checked here; what it means today is worked out when it is converted.
//
// +kubebuilder:object:generate=true
// +groupName=karpenter.sh
package v1alpha5

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// SchemeGroupVersion is the group and version of the kinds in this package. It is never changed.
var SchemeGroupVersion = schema.GroupVersion{Group: v1.Group, Version: "v1alpha5"}

// AddToScheme registers the kinds of this package.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(SchemeGroupVersion, &Provisioner{}, &ProvisionerList{})
	metav1.AddToGroupVersion(s, SchemeGroupVersion)
	return nil
}

// Provisioner is what a NodePool was called.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=provisioners,scope=Cluster,categories=karpenter
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Template",type="string",JSONPath=".spec.providerRef.name",description=""
// +kubebuilder:printcolumn:name="Active",type="string",JSONPath=".status.conditions[?(@.type==\"Active\")].status",description=""
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description=""
type Provisioner struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what is wanted of the nodes.
	// +optional
	Spec ProvisionerSpec `json:"spec,omitempty"`
	// status tells whether there is a NodePool for it.
	// +optional
	Status ProvisionerStatus `json:"status,omitzero"`
}

// ProvisionerList is a list of Provisioners.
//
// +kubebuilder:object:root=true
type ProvisionerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Provisioner `json:"items"`
}

// ProvisionerSpec is what is wanted of the nodes of a Provisioner.
type ProvisionerSpec struct {
	// annotations are put on every node.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// labels are put on every node.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// taints stay on the nodes.
	// +optional
	Taints []corev1.Taint `json:"taints,omitempty"`
	// startupTaints are removed by some agent once a node is up.
	// +optional
	StartupTaints []corev1.Taint `json:"startupTaints,omitempty"`
	// requirements restrict the labels of the nodes.
	// +optional
	Requirements []corev1.NodeSelectorRequirement `json:"requirements,omitempty"`
	// kubeletConfiguration holds settings of the kubelet.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type:="object"
	// +optional
	KubeletConfiguration *runtime.RawExtension `json:"kubeletConfiguration,omitempty"`
	// provider holds settings of the cloud. Excludes providerRef.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type:="object"
	// +optional
	Provider *runtime.RawExtension `json:"provider,omitempty"`
	// providerRef names the object that holds settings of the cloud.
	// +optional
	ProviderRef *ProviderRef `json:"providerRef,omitempty"`
	// ttlSecondsAfterEmpty is how long a node may be empty. Absent keeps empty nodes.
	// +kubebuilder:validation:Minimum:=0
	// +optional
	TTLSecondsAfterEmpty *int64 `json:"ttlSecondsAfterEmpty,omitempty"`
	// ttlSecondsUntilExpired is how old a node may become. Absent lets it grow as old as it likes.
	// +kubebuilder:validation:Minimum:=0
	// +optional
	TTLSecondsUntilExpired *int64 `json:"ttlSecondsUntilExpired,omitempty"`
	// limits are ceilings on what may be provisioned.
	// +optional
	Limits *Limits `json:"limits,omitempty"`
	// weight orders Provisioners: a larger one is tried first.
	// +kubebuilder:validation:Minimum:=1
	// +kubebuilder:validation:Maximum:=100
	// +optional
	Weight *int32 `json:"weight,omitempty"`
	// consolidation says whether nodes are replaced by fewer or cheaper ones.
	// +optional
	Consolidation *Consolidation `json:"consolidation,omitempty"`
}

// ProviderRef names the object that holds settings of the cloud.
type ProviderRef struct {
	// apiVersion of the object.
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`
	// kind of the object.
	// +optional
	Kind string `json:"kind,omitempty"`
	// name of the object.
	// +optional
	Name string `json:"name,omitempty"`
}

// Limits are ceilings on what may be provisioned.
type Limits struct {
	// resources are the ceilings by resource.
	// +optional
	Resources corev1.ResourceList `json:"resources,omitempty"`
}

// Consolidation says whether nodes are replaced by fewer or cheaper ones.
type Consolidation struct {
	// enabled turns it on.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
}

// ProvisionerStatus is the observed state of a Provisioner.
type ProvisionerStatus struct {
	// conditions tell whether there is a NodePool for it, and why not.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ConditionTypeActive is True while the NodePool is kept as the Provisioner wants it, and does not say that it is not ready.
const ConditionTypeActive = "Active"

// ConditionList implements condition.Object.
func (p *Provisioner) ConditionList() *[]metav1.Condition { return &p.Status.Conditions }

// ConditionTypes implements condition.Object.
func (p *Provisioner) ConditionTypes() condition.Types {
	return condition.Types{Root: ConditionTypeActive}
}
