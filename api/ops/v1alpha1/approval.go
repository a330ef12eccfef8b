package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ApprovalMode is when disruption has to be approved.
//
// +kubebuilder:validation:Enum:={Never,Always,Above}
type ApprovalMode string

// The approval modes.
const (
	// ApprovalNever lets the controller disrupt nodes without approval.
	ApprovalNever ApprovalMode = "Never"
	// ApprovalAlways asks for approval of every disruption.
	ApprovalAlways ApprovalMode = "Always"
	// ApprovalAbove asks for approval of disruption above a threshold.
	ApprovalAbove ApprovalMode = "Above"
)

// Approval is which disruption has to be approved by a person first. The controller proposes it as a DisruptionPlan.
//
// +kubebuilder:validation:XValidation:message="'above' is for the mode Above, which requires it",rule="(self.mode == 'Above') == has(self.above)"
type Approval struct {
	// mode is Never, Always, or Above for disruption that exceeds one of the thresholds in above.
	// +required
	Mode ApprovalMode `json:"mode"`
	// above are the thresholds of the mode Above. Disruption that exceeds at least one of them has to be approved.
	// +optional
	Above *ApprovalThresholds `json:"above,omitempty"`
	// reasons are the reasons for disruption that have to be approved. Absent means all but Unhealthy, which has to be named.
	// +kubebuilder:validation:MinItems:=1
	// +kubebuilder:validation:MaxItems:=5
	// +listType=set
	// +optional
	Reasons []DisruptionReason `json:"reasons,omitempty"`
	// validFor is how long a proposal, and its approval, stays valid. Absent means 24h.
	// +kubebuilder:validation:XValidation:message="must be at least a minute and at most 30 days",rule="!self.matches('^([0-9]+(s|m|h))+$') || (duration(self) >= duration('1m') && duration(self) <= duration('720h'))"
	// +kubebuilder:validation:MaxLength:=32
	// +kubebuilder:validation:Pattern:=`^([0-9]+(s|m|h))+$`
	// +kubebuilder:validation:Type:="string"
	// +optional
	ValidFor *metav1.Duration `json:"validFor,omitempty"`
}

// ApprovalThresholds are what disruption may change without approval. One that is absent does not count.
//
// +kubebuilder:validation:XValidation:message="must set 'costPerHour', 'nodes' or 'risk'",rule="has(self.costPerHour) || has(self.nodes) || has(self.risk)"
type ApprovalThresholds struct {
	// costPerHour is the change of the cost, up or down, in dollars per hour with at most six decimals. A change that is not known
	// exceeds it.
	// +kubebuilder:validation:MaxLength:=24
	// +kubebuilder:validation:Pattern:=`^[0-9]{1,12}(\.[0-9]{1,6})?$`
	// +optional
	CostPerHour *string `json:"costPerHour,omitempty"`
	// nodes is the number of nodes that are disrupted together.
	// +kubebuilder:validation:Minimum:=0
	// +optional
	Nodes *int32 `json:"nodes,omitempty"`
	// risk is the number of pods that are evicted without protection: pods that no PodDisruptionBudget selects, and pods whose
	// do-not-disrupt annotation is overridden.
	// +kubebuilder:validation:Minimum:=0
	// +optional
	Risk *int32 `json:"risk,omitempty"`
}
