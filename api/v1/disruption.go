package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Disruption says when and how fast the nodes of a pool may be disrupted voluntarily.
type Disruption struct {
	// consolidateAfter is how long a node must have seen no pod come or go before it may be consolidated. Never
	// turns consolidation off, the removal of empty nodes included.
	// +kubebuilder:default:="0s"
	// +kubebuilder:validation:XValidation:message="longer than 292 years, write Never",rule="!self.matches('^([0-9]+(s|m|h))+$') || duration(self) >= duration('0s')"
	// +kubebuilder:validation:Pattern:=`^(([0-9]+(s|m|h))+|Never)$`
	// +kubebuilder:validation:Type:="string"
	// +kubebuilder:validation:Schemaless
	// +optional
	ConsolidateAfter NillableDuration `json:"consolidateAfter"`
	// consolidationPolicy says which nodes may be consolidated.
	// +kubebuilder:default:="WhenEmptyOrUnderutilized"
	// +kubebuilder:validation:Enum:={WhenEmpty,WhenEmptyOrUnderutilized,Balanced}
	// +optional
	ConsolidationPolicy ConsolidationPolicy `json:"consolidationPolicy,omitempty"`
	// budgets limit how many nodes are disrupted at the same time; the strictest one that applies counts. An empty
	// list means no limit.
	// +kubebuilder:default:={{nodes: "10%"}}
	// +kubebuilder:validation:XValidation:message="'schedule' and 'duration' must be set together",rule="self.all(b, has(b.schedule) == has(b.duration))"
	// +kubebuilder:validation:MaxItems:=50
	// +listType=atomic
	// +optional
	Budgets []Budget `json:"budgets,omitzero"`
}

// ConsolidationPolicy says which nodes of a pool may be consolidated.
type ConsolidationPolicy string

// The consolidation policies.
const (
	ConsolidationPolicyWhenEmpty                ConsolidationPolicy = "WhenEmpty"
	ConsolidationPolicyWhenEmptyOrUnderutilized ConsolidationPolicy = "WhenEmptyOrUnderutilized"
	ConsolidationPolicyBalanced                 ConsolidationPolicy = "Balanced"
)

// Budget limits how many nodes of a pool are disrupted at the same time, always or in recurring windows.
type Budget struct {
	// reasons restricts the budget to these reasons for disruption. Absent means all of them; an empty list means
	// none.
	// +kubebuilder:validation:MaxItems:=50
	// +listType=set
	// +optional
	Reasons []DisruptionReason `json:"reasons,omitzero"`
	// nodes is the largest number of nodes that are disrupted at the same time: a number, or a percentage of the
	// pool's nodes, which is rounded up.
	// +kubebuilder:default:="10%"
	// +kubebuilder:validation:Pattern:=`^((100|[0-9]{1,2})%|[0-9]+)$`
	// +required
	Nodes string `json:"nodes"`
	// schedule is when a window starts, in cron syntax and UTC. Needs duration.
	// +kubebuilder:validation:Pattern:=`^(@(annually|yearly|monthly|weekly|daily|midnight|hourly))|((.+)\s(.+)\s(.+)\s(.+)\s(.+))$`
	// +optional
	Schedule *string `json:"schedule,omitempty"`
	// duration is how long a window lasts, in hours and minutes. Needs schedule.
	// +kubebuilder:validation:XValidation:message="longer than 292 years",rule="!(self.endsWith('h') || self.endsWith('m') || self.endsWith('0s')) || duration(self) >= duration('0s')"
	// +kubebuilder:validation:Pattern:=`^((([0-9]+(h|m))|([0-9]+h[0-9]+m))(0s)?)$`
	// +kubebuilder:validation:Type:="string"
	// +optional
	Duration *metav1.Duration `json:"duration,omitempty"`
}

// DisruptionReason is why a node is disrupted voluntarily.
//
// +kubebuilder:validation:Enum:={Underutilized,Empty,Drifted,Unhealthy}
type DisruptionReason string

// The reasons for voluntary disruption.
const (
	DisruptionReasonUnderutilized DisruptionReason = "Underutilized"
	DisruptionReasonEmpty         DisruptionReason = "Empty"
	DisruptionReasonDrifted       DisruptionReason = "Drifted"
	DisruptionReasonUnhealthy     DisruptionReason = "Unhealthy"
)
