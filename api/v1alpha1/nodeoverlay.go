package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/condition"
)

// NodeOverlay corrects what the cloud says about some instance types: what they cost, and which extended resources they
// have.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=nodeoverlays,scope=Cluster,categories=karpenter,shortName=overlays
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description=""
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description=""
// +kubebuilder:printcolumn:name="Weight",type="integer",JSONPath=".spec.weight",priority=1,description=""
type NodeOverlay struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the correction and what it applies to.
	// +required
	Spec NodeOverlaySpec `json:"spec"`
	// status tells whether the correction is in force.
	// +optional
	Status NodeOverlayStatus `json:"status,omitempty"`
}

// NodeOverlayList is a list of NodeOverlays.
//
// +kubebuilder:object:root=true
type NodeOverlayList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []NodeOverlay `json:"items"`
}

// NodeOverlaySpec is a correction and what it applies to.
//
// +kubebuilder:validation:XValidation:message="'price' and 'priceAdjustment' exclude each other",rule="!has(self.price) || !has(self.priceAdjustment)"
type NodeOverlaySpec struct {
	// requirements select instance types and their offerings, by their own labels, by the labels in the template of
	// the pool and by the name of the pool. An empty list selects all.
	// +kubebuilder:validation:XValidation:message="operator 'NotIn' needs at least one value",rule="self.all(r, r.operator != 'NotIn' || (has(r.values) && size(r.values) != 0))"
	// +kubebuilder:validation:XValidation:message="operator 'In' needs at least one value",rule="self.all(r, r.operator != 'In' || (has(r.values) && size(r.values) != 0))"
	// +kubebuilder:validation:XValidation:message="operators 'Gt', 'Lt', 'Gte' and 'Lte' need exactly one value, an integer that is not negative",rule="self.all(r, !(r.operator in ['Gt', 'Lt', 'Gte', 'Lte']) || (has(r.values) && size(r.values) == 1 && int(r.values[0]) >= 0))"
	// +kubebuilder:validation:MaxItems:=100
	// +listType=atomic
	// +required
	Requirements []NodeSelectorRequirement `json:"requirements"`
	// price replaces the price of the selected offerings. It is in the currency and unit of the cloud's own prices.
	// +kubebuilder:validation:Pattern:=`^\d+(\.\d+)?$`
	// +optional
	Price *string `json:"price,omitempty"`
	// priceAdjustment is added to the price of the selected offerings: an amount such as +1.2 or -0.5, or a share of
	// the price such as +10% or -15%. No price falls below 0.
	// +kubebuilder:validation:Pattern:=`^(([+-]{1}(\d*\.?\d+))|(\+{1}\d*\.?\d+%)|(^(-\d{1,2}(\.\d+)?%)$)|(-100%))$`
	// +optional
	PriceAdjustment *string `json:"priceAdjustment,omitempty"`
	// capacity holds extended resources that the selected instance types have, besides what the cloud knows of.
	// +kubebuilder:validation:XValidation:message="capacity cannot change 'cpu', 'memory', 'ephemeral-storage' or 'pods'",rule="!['cpu', 'memory', 'ephemeral-storage', 'pods'].exists(r, r in self)"
	// +optional
	Capacity corev1.ResourceList `json:"capacity,omitempty"`
	// weight orders overlays that touch the same price or the same resource: the one with the largest weight is in
	// force. Absent counts as 0. Overlays of the same weight must not touch the same.
	// +kubebuilder:validation:Minimum:=1
	// +kubebuilder:validation:Maximum:=10000
	// +optional
	Weight *int32 `json:"weight,omitempty"`
}

// NodeSelectorRequirement restricts the values of one label.
type NodeSelectorRequirement struct {
	// key is the label.
	// +kubebuilder:validation:MaxLength:=316
	// +kubebuilder:validation:Pattern:=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*(\/))?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$`
	// +kubebuilder:validation:XValidation:message="label domain \"karpenter.sh\" is restricted",rule="self in ['karpenter.sh/capacity-type', 'karpenter.sh/nodepool'] || !self.matches('^[^/]*karpenter[.]sh(/|$)')"
	// +kubebuilder:validation:XValidation:message="label \"kubernetes.io/hostname\" is restricted",rule="self != 'kubernetes.io/hostname'"
	// +required
	Key string `json:"key"`
	// operator relates the label to the values. Gt, Lt, Gte and Lte compare integers.
	// +kubebuilder:validation:Enum:={In,NotIn,Exists,DoesNotExist,Gt,Lt,Gte,Lte}
	// +required
	Operator corev1.NodeSelectorOperator `json:"operator"`
	// values are the operands: at least one for In and NotIn, exactly one integer for Gt, Lt, Gte and Lte.
	// +listType=atomic
	// +optional
	Values []string `json:"values,omitempty"`
}

// NodeOverlayStatus is the observed state of a NodeOverlay.
type NodeOverlayStatus struct {
	// conditions tell whether the correction is in force, and why not.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Conditions of a NodeOverlay.
const (
	ConditionTypeReady               = "Ready"
	ConditionTypeValidationSucceeded = "ValidationSucceeded"
)

// Reasons why ValidationSucceeded is False.
const (
	ReasonRuntimeValidation = "RuntimeValidation"
	ReasonConflict          = "Conflict"
)

// ReasonNodeOverlayDisabled is why Ready is False while the feature gate NodeOverlay is off.
const ReasonNodeOverlayDisabled = "NodeOverlayDisabled"

// ConditionList implements condition.Object.
func (o *NodeOverlay) ConditionList() *[]metav1.Condition { return &o.Status.Conditions }

// ConditionTypes implements condition.Object.
func (o *NodeOverlay) ConditionTypes() condition.Types {
	return condition.Types{Root: ConditionTypeReady, Dependents: []string{ConditionTypeValidationSucceeded}}
}
