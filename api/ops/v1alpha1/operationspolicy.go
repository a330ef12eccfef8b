package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/condition"
)

// OperationsPolicy restricts when the nodes of NodePools may be disrupted, and what NodePools may cost.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=operationspolicies,scope=Cluster,categories=karpenter,shortName=opspolicy
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description=""
// +kubebuilder:printcolumn:name="Frozen-Until",type="string",JSONPath=".spec.freeze.until",description=""
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description=""
type OperationsPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the policy allows, and for which NodePools.
	// +required
	Spec OperationsPolicySpec `json:"spec"`
	// status tells whether the policy can be evaluated.
	// +optional
	Status OperationsPolicyStatus `json:"status,omitempty"`
}

// OperationsPolicyList is a list of OperationsPolicies.
//
// +kubebuilder:object:root=true
type OperationsPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []OperationsPolicy `json:"items"`
}

// OperationsPolicySpec is what a policy allows, and for which NodePools. Of several policies that select a NodePool, the strictest counts.
//
// +kubebuilder:validation:XValidation:message="'caps.cluster' is for all NodePools: remove 'nodePoolSelector', or use another policy for it",rule="!has(self.caps) || !has(self.caps.cluster) || !has(self.nodePoolSelector)"
type OperationsPolicySpec struct {
	// nodePoolSelector selects NodePools by their labels. Absent or empty selects all.
	// +optional
	NodePoolSelector *metav1.LabelSelector `json:"nodePoolSelector,omitempty"`
	// windows are when nodes may be disrupted. A reason that no window names is not restricted; one that some windows name is
	// allowed while at least one of these is open.
	// +kubebuilder:validation:MaxItems:=32
	// +listType=atomic
	// +optional
	Windows []MaintenanceWindow `json:"windows,omitempty"`
	// freeze stops disruption until a point in time.
	// +optional
	Freeze *Freeze `json:"freeze,omitempty"`
	// caps limit what nodes may cost.
	// +optional
	Caps *Caps `json:"caps,omitempty"`
	// softExpiry replaces nodes before they reach expireAfter, within budgets and with a replacement first.
	// +optional
	SoftExpiry *SoftExpiry `json:"softExpiry,omitempty"`
	// approval is which disruption has to be approved by a person first. Absent means none.
	// +optional
	Approval *Approval `json:"approval,omitempty"`
}

// DisruptionReason is why a node is disrupted voluntarily.
//
// +kubebuilder:validation:Enum:={Underutilized,Empty,Drifted,Expired,Unhealthy}
type DisruptionReason string

// The reasons for voluntary disruption.
const (
	DisruptionReasonUnderutilized DisruptionReason = "Underutilized"
	DisruptionReasonEmpty         DisruptionReason = "Empty"
	DisruptionReasonDrifted       DisruptionReason = "Drifted"
	DisruptionReasonExpired       DisruptionReason = "Expired"
	DisruptionReasonUnhealthy     DisruptionReason = "Unhealthy"
)

// MaintenanceWindow is a recurring time in which nodes may be disrupted.
type MaintenanceWindow struct {
	// reasons are the reasons for disruption that the window is for. Absent means all but Unhealthy, which has to be named.
	// +kubebuilder:validation:MinItems:=1
	// +kubebuilder:validation:MaxItems:=5
	// +listType=set
	// +optional
	Reasons []DisruptionReason `json:"reasons,omitempty"`
	// schedule is when the window opens, in cron syntax and in the time zone of the window.
	// +kubebuilder:validation:MaxLength:=128
	// +kubebuilder:validation:Pattern:=`^(@(annually|yearly|monthly|weekly|daily|midnight|hourly)|[^\s=@]+\s[^\s]+\s[^\s]+\s[^\s]+\s[^\s]+)$`
	// +required
	Schedule string `json:"schedule"`
	// duration is how long the window stays open, in hours and minutes of elapsed time: at least a minute, at most 366 days.
	// +kubebuilder:validation:XValidation:message="must be at least a minute and at most 366 days",rule="!self.matches('^([0-9]+(s|m|h))+$') || (duration(self) >= duration('1m') && duration(self) <= duration('8784h'))"
	// +kubebuilder:validation:MaxLength:=32
	// +kubebuilder:validation:Pattern:=`^((([0-9]+(h|m))|([0-9]+h[0-9]+m))(0s)?)$`
	// +kubebuilder:validation:Type:="string"
	// +required
	Duration metav1.Duration `json:"duration"`
	// timeZone is a name of the IANA time zone database, such as Europe/Berlin. Absent means UTC.
	// +kubebuilder:validation:XValidation:message="'Local' depends on the process: write a name such as Europe/Berlin",rule="self != 'Local'"
	// +kubebuilder:validation:MaxLength:=64
	// +kubebuilder:validation:Pattern:=`^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$`
	// +optional
	TimeZone string `json:"timeZone,omitempty"`
}

// Freeze stops disruption until a point in time.
type Freeze struct {
	// until is when the freeze ends.
	// +required
	Until metav1.Time `json:"until"`
	// why is shown with every node that is not disrupted because of the freeze.
	// +kubebuilder:validation:MinLength:=1
	// +kubebuilder:validation:MaxLength:=256
	// +required
	Why string `json:"why"`
	// reasons are the reasons for disruption that the freeze is for. Absent means all but Unhealthy, which has to be named.
	// +kubebuilder:validation:MinItems:=1
	// +kubebuilder:validation:MaxItems:=5
	// +listType=set
	// +optional
	Reasons []DisruptionReason `json:"reasons,omitempty"`
}

// Caps limit what nodes may cost, in dollars per hour. A node that would exceed a cap is not launched. Caps never remove nodes.
//
// +kubebuilder:validation:XValidation:message="must set 'nodePool' or 'cluster'",rule="has(self.nodePool) || has(self.cluster)"
type Caps struct {
	// nodePool is the cap of each selected NodePool, in dollars per hour with at most six decimals.
	// +kubebuilder:validation:MaxLength:=24
	// +kubebuilder:validation:Pattern:=`^[0-9]{1,12}(\.[0-9]{1,6})?$`
	// +optional
	NodePool *string `json:"nodePool,omitempty"`
	// cluster is the cap of all nodes that have a NodeClaim, in dollars per hour with at most six decimals.
	// +kubebuilder:validation:MaxLength:=24
	// +kubebuilder:validation:Pattern:=`^[0-9]{1,12}(\.[0-9]{1,6})?$`
	// +optional
	Cluster *string `json:"cluster,omitempty"`
}

// SoftExpiry replaces nodes before they reach expireAfter.
//
// +kubebuilder:validation:XValidation:message="'jitter' must be at most 'before'",rule="!has(self.jitter) || !self.jitter.matches('^([0-9]+(s|m|h))+$') || !self.before.matches('^([0-9]+(s|m|h))+$') || duration(self.jitter) <= duration(self.before)"
type SoftExpiry struct {
	// before is how long before expireAfter a node becomes a candidate for disruption with the reason Expired.
	// +kubebuilder:validation:XValidation:message="must be more than 0s and at most 10 years",rule="!self.matches('^([0-9]+(s|m|h))+$') || (duration(self) > duration('0s') && duration(self) <= duration('87600h'))"
	// +kubebuilder:validation:MaxLength:=32
	// +kubebuilder:validation:Pattern:=`^([0-9]+(s|m|h))+$`
	// +kubebuilder:validation:Type:="string"
	// +required
	Before metav1.Duration `json:"before"`
	// jitter is the longest time by which this is delayed, at most before. It differs between the NodeClaims and is fixed for each, so
	// that nodes of the same age are not replaced at once. Absent means half of before.
	// +kubebuilder:validation:XValidation:message="must be at most 10 years",rule="!self.matches('^([0-9]+(s|m|h))+$') || (duration(self) >= duration('0s') && duration(self) <= duration('87600h'))"
	// +kubebuilder:validation:MaxLength:=32
	// +kubebuilder:validation:Pattern:=`^([0-9]+(s|m|h))+$`
	// +kubebuilder:validation:Type:="string"
	// +optional
	Jitter *metav1.Duration `json:"jitter,omitempty"`
}

// OperationsPolicyStatus is the observed state of an OperationsPolicy.
type OperationsPolicyStatus struct {
	// conditions tell whether the policy can be evaluated, and why not.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Conditions of an OperationsPolicy.
const (
	ConditionTypeReady               = "Ready"
	ConditionTypeValidationSucceeded = "ValidationSucceeded"
)

// Reasons of conditions that are False.
const (
	// ReasonRuntimeValidation is why ValidationSucceeded is False.
	ReasonRuntimeValidation = "RuntimeValidation"
	// ReasonOperationsPolicyDisabled is why Ready is False while the feature gate OperationsPolicy is off.
	ReasonOperationsPolicyDisabled = "OperationsPolicyDisabled"
)

// ConditionList implements condition.Object.
func (p *OperationsPolicy) ConditionList() *[]metav1.Condition { return &p.Status.Conditions }

// ConditionTypes implements condition.Object.
func (p *OperationsPolicy) ConditionTypes() condition.Types {
	return condition.Types{Root: ConditionTypeReady, Dependents: []string{ConditionTypeValidationSucceeded}}
}
