package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CapacityBuffer keeps spare capacity for future pods: a number of chunks, each of the size of one pod.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=capacitybuffers,scope=Namespaced,categories=autoscaling,shortName=cb
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Strategy",type="string",JSONPath=".spec.provisioningStrategy",description=""
// +kubebuilder:printcolumn:name="PodTemplate",type="string",JSONPath=".status.podTemplateRef.name",description=""
// +kubebuilder:printcolumn:name="Replicas",type="integer",JSONPath=".status.replicas",description=""
// +kubebuilder:printcolumn:name="ConditionsType",type="string",JSONPath=".status.conditions[*].type",description=""
// +kubebuilder:printcolumn:name="ConditionsStatus",type="string",JSONPath=".status.conditions[*].status",description=""
// +kubebuilder:printcolumn:name="ConditionsReason",type="string",JSONPath=".status.conditions[*].reason",description=""
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description=""
type CapacityBuffer struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the requested capacity.
	// +required
	Spec CapacityBufferSpec `json:"spec"`
	// status is the resulting capacity, and whether it exists.
	// +optional
	Status CapacityBufferStatus `json:"status,omitempty"`
}

// CapacityBufferList is a list of CapacityBuffers.
//
// +kubebuilder:object:root=true
type CapacityBufferList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []CapacityBuffer `json:"items"`
}

// ActiveCapacity is the default strategy: the capacity is on running nodes.
const ActiveCapacity = "buffer.x-k8s.io/active-capacity"

// CapacityBufferSpec is the requested capacity. The API server accepts a spec that describes no chunk; the status reports
// it.
//
// +kubebuilder:validation:XValidation:message="'podTemplateRef' needs 'replicas' or 'limits'",rule="!has(self.podTemplateRef) || has(self.replicas) || has(self.limits)"
// +kubebuilder:validation:XValidation:message="'podTemplateRef' and 'scalableRef' exclude each other",rule="!has(self.podTemplateRef) || !has(self.scalableRef)"
type CapacityBufferSpec struct {
	// provisioningStrategy is how the capacity is provided. Every strategy is treated like the default one.
	// +kubebuilder:default:="buffer.x-k8s.io/active-capacity"
	// +optional
	ProvisioningStrategy *string `json:"provisioningStrategy,omitempty"`
	// podTemplateRef names the PodTemplate, in the namespace of the buffer, that describes one chunk.
	// +optional
	PodTemplateRef *LocalObjectRef `json:"podTemplateRef,omitempty"`
	// scalableRef names the workload, in the namespace of the buffer, whose pods describe one chunk.
	// +optional
	ScalableRef *ScalableRef `json:"scalableRef,omitempty"`
	// replicas is the number of chunks. Together with percentage, the larger number counts.
	// +kubebuilder:validation:Minimum:=0
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// percentage is the number of chunks as a share of the replicas that the workload is meant to have, rounded up.
	// It has no effect without scalableRef.
	// +kubebuilder:validation:Minimum:=0
	// +optional
	Percentage *int32 `json:"percentage,omitempty"`
	// limits are ceilings on what all chunks request together. Without replicas and percentage there are as many
	// chunks as fit.
	// +optional
	Limits corev1.ResourceList `json:"limits,omitzero"`
}

// LocalObjectRef names an object in the namespace of the buffer.
type LocalObjectRef struct {
	// name of the object.
	// +kubebuilder:validation:MinLength:=1
	// +required
	Name string `json:"name"`
}

// ScalableRef names a workload in the namespace of the buffer.
type ScalableRef struct {
	// apiGroup of the workload; absent means apps, and no other group works.
	// +optional
	APIGroup string `json:"apiGroup,omitempty"`
	// kind of the workload: Deployment, StatefulSet or ReplicaSet.
	// +kubebuilder:validation:MinLength:=1
	// +required
	Kind string `json:"kind"`
	// name of the workload.
	// +kubebuilder:validation:MinLength:=1
	// +required
	Name string `json:"name"`
}

// CapacityBufferStatus is the observed state of a CapacityBuffer.
type CapacityBufferStatus struct {
	// podTemplateRef names the PodTemplate in use; absent if a workload describes the chunks.
	// +optional
	PodTemplateRef *LocalObjectRef `json:"podTemplateRef,omitempty"`
	// podTemplateGeneration is the generation of the PodTemplate in use.
	// +optional
	PodTemplateGeneration *int64 `json:"podTemplateGeneration,omitempty"`
	// replicas is the number of chunks that the spec comes to.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// provisioningStrategy is the strategy of the spec that the other fields are about.
	// +optional
	ProvisioningStrategy *string `json:"provisioningStrategy,omitempty"`
	// conditions tell whether the spec is valid and whether the capacity exists. There is no summary condition.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Conditions of a CapacityBuffer. They follow the standard semantics of Kubernetes and have no root.
const (
	// ConditionTypeReadyForProvisioning is True once chunk and number of chunks are known.
	ConditionTypeReadyForProvisioning = "ReadyForProvisioning"
	// ConditionTypeProvisioning is True while all chunks fit on nodes that exist.
	ConditionTypeProvisioning = "Provisioning"
	// ConditionTypeLimitedByQuotas is reserved: Karpenter never sets it.
	ConditionTypeLimitedByQuotas = "LimitedByQuotas"
)

// Reasons of ConditionTypeReadyForProvisioning.
const (
	// ReasonResolved goes with True.
	ReasonResolved = "Resolved"
	// ReasonResolutionFailed says that the spec describes no chunk that Karpenter understands, or that looking failed.
	ReasonResolutionFailed = "ResolutionFailed"
	// ReasonPodTemplateNotFound says that the PodTemplate does not exist.
	ReasonPodTemplateNotFound = "PodTemplateNotFound"
	// ReasonScalableRefNotFound says that the workload does not exist.
	ReasonScalableRefNotFound = "ScalableRefNotFound"
	// ReasonCapacityBufferDisabled says that the feature gate CapacityBuffer is off.
	ReasonCapacityBufferDisabled = "CapacityBufferDisabled"
)

// Reasons of ConditionTypeProvisioning.
const (
	// ReasonFitsExistingCapacity goes with True.
	ReasonFitsExistingCapacity = "FitsExistingCapacity"
	// ReasonRequiresNewCapacity says that nodes are being launched for some chunks, or that some fit nowhere.
	ReasonRequiresNewCapacity = "RequiresNewCapacity"
	// ReasonNotReadyForProvisioning says that the chunks are not known.
	ReasonNotReadyForProvisioning = "NotReadyForProvisioning"
	// ReasonBufferEmpty says that the buffer comes to no chunk at all.
	ReasonBufferEmpty = "BufferEmpty"
)

// Annotations of virtual pods, which stand for chunks. They exist in memory only.
const (
	// VirtualPodAnnotationKey is "true" on every virtual pod.
	VirtualPodAnnotationKey = "karpenter.sh/capacity-buffer-fake-pod"
	// BufferNameAnnotationKey and BufferNamespaceAnnotationKey name the buffer.
	BufferNameAnnotationKey      = "karpenter.sh/capacity-buffer-name"
	BufferNamespaceAnnotationKey = "karpenter.sh/capacity-buffer-namespace"
)
