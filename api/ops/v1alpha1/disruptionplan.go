package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// DisruptionPlan is disruption that the controller proposes and a person approves or rejects. The controller creates it. Its spec does not
// change, except that a decision is added once.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=disruptionplans,scope=Cluster,categories=karpenter,shortName=dplan
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Phase",type="string",JSONPath=".status.phase",description=""
// +kubebuilder:printcolumn:name="Reason",type="string",JSONPath=".spec.reason",description=""
// +kubebuilder:printcolumn:name="Action",type="string",JSONPath=".spec.action",description=""
// +kubebuilder:printcolumn:name="Saves",type="string",JSONPath=".spec.savingsPerHour",description=""
// +kubebuilder:printcolumn:name="Risk",type="integer",JSONPath=".spec.risk",description=""
// +kubebuilder:printcolumn:name="Decided-By",type="string",JSONPath=".spec.decision.by",description=""
// +kubebuilder:printcolumn:name="Expires",type="string",JSONPath=".spec.expiresAt",description=""
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description=""
type DisruptionPlan struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what is proposed, and what was decided about it.
	// +required
	Spec DisruptionPlanSpec `json:"spec"`
	// status is what happened to the plan. The controller writes it, and does not act on it.
	// +optional
	Status DisruptionPlanStatus `json:"status,omitempty"`
}

// DisruptionPlanList is a list of DisruptionPlans.
//
// +kubebuilder:object:root=true
type DisruptionPlanList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []DisruptionPlan `json:"items"`
}

// The most entries of the lists of a DisruptionPlan.
const (
	MaxPlanNodes         = 200
	MaxPlanReplacements  = 200
	MaxPlanInstanceTypes = 100
	MaxPlanEvictions     = 500
	MaxPlanFirstPods     = 1000
)

// DisruptionPlanSpec is what is proposed, and what was decided about it.
//
// +kubebuilder:validation:XValidation:message="the spec of a plan does not change, except for the decision",rule=`self.method == oldSelf.method && self.reason == oldSelf.reason && self.action == oldSelf.action && self.operationsPolicy == oldSelf.operationsPolicy && self.nodes == oldSelf.nodes && (has(self.replacements) ? self.replacements : []) == (has(oldSelf.replacements) ? oldSelf.replacements : []) && (has(self.evictions) ? self.evictions : []) == (has(oldSelf.evictions) ? oldSelf.evictions : []) && (has(self.firstPods) ? self.firstPods : []) == (has(oldSelf.firstPods) ? oldSelf.firstPods : []) && (has(self.savingsPerHour) ? self.savingsPerHour : "") == (has(oldSelf.savingsPerHour) ? oldSelf.savingsPerHour : "") && self.risk == oldSelf.risk && self.inputHash == oldSelf.inputHash && self.expiresAt == oldSelf.expiresAt && self.admission == oldSelf.admission`
// +kubebuilder:validation:XValidation:message="a plan is decided once",rule="!has(oldSelf.decision) || has(self.decision) && self.decision == oldSelf.decision"
type DisruptionPlanSpec struct {
	// method is the disruption method that found the command.
	// +kubebuilder:validation:MaxLength:=64
	// +required
	Method string `json:"method"`
	// reason is why the nodes are disrupted.
	// +required
	Reason DisruptionReason `json:"reason"`
	// action is delete, replace, terminate-first or reboot.
	// +kubebuilder:validation:MaxLength:=32
	// +required
	Action string `json:"action"`
	// operationsPolicy is the name of the policy that asks for approval, and why it does.
	// +required
	OperationsPolicy AskingPolicy `json:"operationsPolicy"`
	// nodes are disrupted together.
	// +kubebuilder:validation:MinItems:=1
	// +kubebuilder:validation:MaxItems:=200
	// +listType=atomic
	// +required
	Nodes []PlannedNode `json:"nodes"`
	// replacements are launched for them.
	// +kubebuilder:validation:MaxItems:=200
	// +listType=atomic
	// +optional
	Replacements []PlannedReplacement `json:"replacements,omitempty"`
	// evictions are how many pods leave the nodes, by their owner.
	// +kubebuilder:validation:MaxItems:=500
	// +listType=atomic
	// +optional
	Evictions []PlannedEviction `json:"evictions,omitempty"`
	// firstPods are the UIDs of pods that are placed before others when the plan is simulated.
	// +kubebuilder:validation:MaxItems:=1000
	// +listType=atomic
	// +optional
	FirstPods []string `json:"firstPods,omitempty"`
	// savingsPerHour is what the plan saves, in dollars per hour, negative if it costs more. Absent if a price is not known.
	// +kubebuilder:validation:MaxLength:=32
	// +optional
	SavingsPerHour string `json:"savingsPerHour,omitempty"`
	// risk is the number of pods that are evicted without protection: pods that no PodDisruptionBudget selects, and pods whose
	// do-not-disrupt annotation is overridden.
	// +required
	Risk int32 `json:"risk"`
	// inputHash identifies what the plan rests on: the nodes, their NodePools and their pods by owner.
	// +kubebuilder:validation:MaxLength:=64
	// +required
	InputHash string `json:"inputHash"`
	// expiresAt is when the proposal, and its approval, ends.
	// +required
	ExpiresAt metav1.Time `json:"expiresAt"`
	// admission are the objects that admitted changes of the plan when it was proposed. A decision counts only if they are still the same.
	// +required
	Admission PlanAdmission `json:"admission"`
	// decision is added by a person who may approve. The API server verifies who that is.
	// +optional
	Decision *PlanDecision `json:"decision,omitempty"`
}

// AskingPolicy is the OperationsPolicy that asks for approval.
type AskingPolicy struct {
	// name is the name of the OperationsPolicy.
	// +kubebuilder:validation:MaxLength:=253
	// +required
	Name string `json:"name"`
	// why is why it asks.
	// +kubebuilder:validation:MaxLength:=256
	// +required
	Why string `json:"why"`
}

// PlannedNode is a node of a plan.
type PlannedNode struct {
	// name is the name of the Node.
	// +kubebuilder:validation:MaxLength:=253
	// +required
	Name string `json:"name"`
	// nodeClaim is the name of the NodeClaim.
	// +kubebuilder:validation:MaxLength:=253
	// +required
	NodeClaim string `json:"nodeClaim"`
	// nodeClaimUID is the UID of the NodeClaim: another node of this name is not disrupted.
	// +kubebuilder:validation:MaxLength:=64
	// +required
	NodeClaimUID string `json:"nodeClaimUID"`
	// nodePool is the name of the NodePool.
	// +kubebuilder:validation:MaxLength:=253
	// +required
	NodePool string `json:"nodePool"`
	// instanceType, zone and capacityType are those of the node.
	// +kubebuilder:validation:MaxLength:=63
	// +optional
	InstanceType string `json:"instanceType,omitempty"`
	// zone is the zone of the node.
	// +kubebuilder:validation:MaxLength:=63
	// +optional
	Zone string `json:"zone,omitempty"`
	// capacityType is the capacity type of the node.
	// +kubebuilder:validation:MaxLength:=63
	// +optional
	CapacityType string `json:"capacityType,omitempty"`
	// pricePerHour is what the node costs, in dollars. Absent if it is not known.
	// +kubebuilder:validation:MaxLength:=32
	// +optional
	PricePerHour string `json:"pricePerHour,omitempty"`
}

// PlannedReplacement is a node that is launched.
type PlannedReplacement struct {
	// nodePool is the name of its NodePool.
	// +kubebuilder:validation:MaxLength:=253
	// +required
	NodePool string `json:"nodePool"`
	// instanceTypes are what may be launched, cheapest first. Absent for static NodePools, which launch from their template.
	// +kubebuilder:validation:MaxItems:=100
	// +kubebuilder:validation:items:MaxLength:=63
	// +listType=atomic
	// +optional
	InstanceTypes []string `json:"instanceTypes,omitempty"`
	// zones are where. Absent for any.
	// +kubebuilder:validation:MaxItems:=100
	// +kubebuilder:validation:items:MaxLength:=63
	// +listType=atomic
	// +optional
	Zones []string `json:"zones,omitempty"`
	// capacityTypes are as what. Absent for any.
	// +kubebuilder:validation:MaxItems:=10
	// +kubebuilder:validation:items:MaxLength:=63
	// +listType=atomic
	// +optional
	CapacityTypes []string `json:"capacityTypes,omitempty"`
	// pricePerHour is the price of the cheapest, in dollars. Absent if it is not known.
	// +kubebuilder:validation:MaxLength:=32
	// +optional
	PricePerHour string `json:"pricePerHour,omitempty"`
}

// PlannedEviction is how many pods of an owner leave the nodes.
type PlannedEviction struct {
	// kind is the kind of the owner, Pod for pods without one.
	// +kubebuilder:validation:MaxLength:=63
	// +required
	Kind string `json:"kind"`
	// namespace is the namespace of the owner and the pods.
	// +kubebuilder:validation:MaxLength:=63
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// name is the name of the owner.
	// +kubebuilder:validation:MaxLength:=253
	// +optional
	Name string `json:"name,omitempty"`
	// pods is their number, unprotected how many of them count as risk.
	// +required
	Pods int32 `json:"pods"`
	// unprotected is how many of the pods count as risk.
	// +optional
	Unprotected int32 `json:"unprotected,omitempty"`
}

// PlanAdmission identifies the objects that admit decisions.
type PlanAdmission struct {
	// policyUID and policyGeneration are those of the ValidatingAdmissionPolicy.
	// +kubebuilder:validation:MaxLength:=64
	// +required
	PolicyUID string `json:"policyUID"`
	// policyGeneration is the generation of the ValidatingAdmissionPolicy.
	// +required
	PolicyGeneration int64 `json:"policyGeneration"`
	// bindingUID and bindingGeneration are those of its binding.
	// +kubebuilder:validation:MaxLength:=64
	// +required
	BindingUID string `json:"bindingUID"`
	// bindingGeneration is the generation of the ValidatingAdmissionPolicyBinding.
	// +required
	BindingGeneration int64 `json:"bindingGeneration"`
}

// Verdict is what was decided.
//
// +kubebuilder:validation:Enum:={Approved,Rejected}
type Verdict string

// The verdicts.
const (
	VerdictApproved Verdict = "Approved"
	VerdictRejected Verdict = "Rejected"
)

// PlanDecision is what a person decided.
type PlanDecision struct {
	// verdict is Approved or Rejected.
	// +required
	Verdict Verdict `json:"verdict"`
	// by is the user who decides. The API server refuses any other name than that of the user who writes it.
	// +kubebuilder:validation:MinLength:=1
	// +kubebuilder:validation:MaxLength:=512
	// +required
	By string `json:"by"`
	// reason is why.
	// +kubebuilder:validation:MaxLength:=512
	// +optional
	Reason string `json:"reason,omitempty"`
}

// PlanPhase is where a plan is in its life. Each is a condition of the same name, too.
type PlanPhase string

// The phases. The last five are final.
const (
	PlanProposed  PlanPhase = "Proposed"
	PlanApproved  PlanPhase = "Approved"
	PlanExecuting PlanPhase = "Executing"
	PlanRejected  PlanPhase = "Rejected"
	PlanExecuted  PlanPhase = "Executed"
	PlanFailed    PlanPhase = "Failed"
	PlanVoided    PlanPhase = "Voided"
	PlanExpired   PlanPhase = "Expired"
)

// Final reports whether nothing happens to a plan in the phase any more.
func (p PlanPhase) Final() bool {
	switch p {
	case PlanRejected, PlanExecuted, PlanFailed, PlanVoided, PlanExpired:
		return true
	case PlanProposed, PlanApproved, PlanExecuting:
	}
	return false
}

// DisruptionPlanStatus is what happened to a plan.
type DisruptionPlanStatus struct {
	// phase is where the plan is in its life.
	// +optional
	Phase PlanPhase `json:"phase,omitempty"`
	// waitingFor is why an approved plan is not executed yet; while the feature gate OperationsPolicy is off, why no plan is.
	// +optional
	WaitingFor string `json:"waitingFor,omitempty"`
	// launched are the names of the NodeClaims that were launched.
	// +listType=atomic
	// +optional
	Launched []string `json:"launched,omitempty"`
	// conditions are the phases that the plan has been in, with reason, message and time.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
