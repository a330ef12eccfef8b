package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/condition"
)

// NodeClaim is a request for one node: created before the instance exists and deleted after it is gone.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=nodeclaims,scope=Cluster,categories=karpenter
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Type",type="string",JSONPath=".metadata.labels.node\\.kubernetes\\.io/instance-type",description=""
// +kubebuilder:printcolumn:name="Capacity",type="string",JSONPath=".metadata.labels.karpenter\\.sh/capacity-type",description=""
// +kubebuilder:printcolumn:name="Zone",type="string",JSONPath=".metadata.labels.topology\\.kubernetes\\.io/zone",description=""
// +kubebuilder:printcolumn:name="Node",type="string",JSONPath=".status.nodeName",description=""
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description=""
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description=""
// +kubebuilder:printcolumn:name="ImageID",type="string",JSONPath=".status.imageID",priority=1,description=""
// +kubebuilder:printcolumn:name="ID",type="string",JSONPath=".status.providerID",priority=1,description=""
// +kubebuilder:printcolumn:name="NodePool",type="string",JSONPath=".metadata.labels.karpenter\\.sh/nodepool",priority=1,description=""
// +kubebuilder:printcolumn:name="NodeClass",type="string",JSONPath=".spec.nodeClassRef.name",priority=1,description=""
// +kubebuilder:printcolumn:name="Drifted",type="string",JSONPath=".status.conditions[?(@.type==\"Drifted\")].status",priority=1,description=""
type NodeClaim struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the requested node. It is immutable.
	// +kubebuilder:validation:XValidation:message="spec is immutable",rule="self == oldSelf"
	// +required
	Spec NodeClaimSpec `json:"spec"`
	// status is the observed state of the instance and the node.
	// +optional
	Status NodeClaimStatus `json:"status,omitempty"`
}

// NodeClaimList is a list of NodeClaims.
//
// +kubebuilder:object:root=true
type NodeClaimList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []NodeClaim `json:"items"`
}

// NodeClaimSpec is a requested node.
type NodeClaimSpec struct {
	// taints stay on the node.
	// +listType=atomic
	// +optional
	Taints []corev1.Taint `json:"taints,omitzero"`
	// startupTaints are on the node when it joins and are removed by some agent later; the node is not initialized
	// before they are gone.
	// +listType=atomic
	// +optional
	StartupTaints []corev1.Taint `json:"startupTaints,omitzero"`
	// requirements restrict the labels, and thereby the instance type, zone and capacity type, of the node.
	// +kubebuilder:validation:XValidation:message="operator 'In' needs at least one value",rule="self.all(r, r.operator != 'In' || (has(r.values) && size(r.values) != 0))"
	// +kubebuilder:validation:XValidation:message="operators 'Gt', 'Lt', 'Gte' and 'Lte' need exactly one value, an integer that is not negative",rule="self.all(r, !(r.operator in ['Gt', 'Lt', 'Gte', 'Lte']) || (has(r.values) && size(r.values) == 1 && int(r.values[0]) >= 0))"
	// +kubebuilder:validation:XValidation:message="operator 'In' with 'minValues' needs at least that many values",rule="self.all(r, r.operator != 'In' || !has(r.minValues) || (has(r.values) && size(r.values) >= r.minValues))"
	// +kubebuilder:validation:MaxItems:=100
	// +listType=atomic
	// +required
	Requirements []NodeSelectorRequirementWithMinValues `json:"requirements"`
	// resources are the resources that the node must provide.
	// +optional
	Resources ResourceRequirements `json:"resources,omitzero"`
	// nodeClassRef references the node class, which holds the settings of the cloud.
	// +required
	NodeClassRef *NodeClassReference `json:"nodeClassRef"`
	// terminationGracePeriod is the longest time between the request to delete the node and the forced deletion of
	// its pods. At its end PodDisruptionBudgets and the do-not-disrupt annotation are overridden. Absent means to
	// wait without a limit, 0s means to force immediately.
	// +kubebuilder:validation:XValidation:message="longer than 292 years",rule="!self.matches('^([0-9]+(s|m|h))+$') || duration(self) >= duration('0s')"
	// +kubebuilder:validation:Pattern:=`^([0-9]+(s|m|h))+$`
	// +kubebuilder:validation:Type:="string"
	// +optional
	TerminationGracePeriod *metav1.Duration `json:"terminationGracePeriod,omitempty"`
	// expireAfter is the longest time the node may exist, counted from the creation of the NodeClaim; then it is
	// deleted, even if pods run there. Never disables expiration.
	// +kubebuilder:default:="720h"
	// +kubebuilder:validation:XValidation:message="longer than 292 years, write Never",rule="!self.matches('^([0-9]+(s|m|h))+$') || duration(self) >= duration('0s')"
	// +kubebuilder:validation:Pattern:=`^(([0-9]+(s|m|h))+|Never)$`
	// +kubebuilder:validation:Type:="string"
	// +kubebuilder:validation:Schemaless
	// +optional
	ExpireAfter NillableDuration `json:"expireAfter,omitempty"`
}

// ResourceRequirements are the resources that a node must provide at least.
type ResourceRequirements struct {
	// requests are the total requests of the pods for the node and of the DaemonSet pods that will run there.
	// +optional
	Requests corev1.ResourceList `json:"requests,omitempty"`
}

// NodeSelectorRequirementWithMinValues restricts the values of one label, and may ask that enough of them stay
// reachable.
type NodeSelectorRequirementWithMinValues struct {
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
	// values are the operands: at least one for In, exactly one integer for Gt, Lt, Gte and Lte.
	// +listType=atomic
	// +optional
	Values []string `json:"values,omitempty"`
	// minValues is the number of different values of this label that must be left once instance types are filtered.
	// This is an alpha field.
	// +kubebuilder:validation:Minimum:=1
	// +kubebuilder:validation:Maximum:=50
	// +optional
	MinValues *int `json:"minValues,omitempty"`
}

// Operators beyond those that core Kubernetes has: bounds that include the value.
const (
	NodeSelectorOpGte corev1.NodeSelectorOperator = "Gte"
	NodeSelectorOpLte corev1.NodeSelectorOperator = "Lte"
)

// NodeClaimStatus is the observed state of one NodeClaim.
type NodeClaimStatus struct {
	// nodeName is the name of the Node, once it has registered.
	// +optional
	NodeName string `json:"nodeName,omitempty"`
	// providerID is the cloud's id of the instance. The Node carries the same id.
	// +optional
	ProviderID string `json:"providerID,omitempty"`
	// imageID is the image the instance boots from.
	// +optional
	ImageID string `json:"imageID,omitempty"`
	// capacity is the whole capacity the node is expected to have.
	// +optional
	Capacity corev1.ResourceList `json:"capacity,omitempty"`
	// allocatable is the capacity that pods are expected to find.
	// +optional
	Allocatable corev1.ResourceList `json:"allocatable,omitempty"`
	// conditions tell the progress of the NodeClaim, and what blocks it.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// lastPodEventTime is when a pod was last bound to the node, finished or left there. DaemonSet pods do not count.
	// Writes are at least ten seconds apart.
	// +optional
	LastPodEventTime metav1.Time `json:"lastPodEventTime,omitzero"`
}

// Conditions of a NodeClaim. Launched, Registered and Initialized make up Ready, the others do not influence it.
const (
	ConditionTypeLaunched             = "Launched"
	ConditionTypeRegistered           = "Registered"
	ConditionTypeInitialized          = "Initialized"
	ConditionTypeConsolidatable       = "Consolidatable"
	ConditionTypeDrifted              = "Drifted"
	ConditionTypeDisruptionReason     = "DisruptionReason"
	ConditionTypeDrained              = "Drained"
	ConditionTypeVolumesDetached      = "VolumesDetached"
	ConditionTypeInstanceTerminating  = "InstanceTerminating"
	ConditionTypeConsistentStateFound = "ConsistentStateFound"
	// ConditionTypeRebooting is True from the request of a reboot until the node is ready again or the reboot has failed. Its
	// transition time is the time of the request, and then that of the end.
	ConditionTypeRebooting = "Rebooting"
)

// Reasons of the condition Rebooting. Any program may request a reboot: it sets the condition to True with
// RebootReasonRequested, and Karpenter carries the reboot out.
const (
	// RebootReasonRequested is the reason of True while the node is drained, until the cloud has accepted the reboot.
	RebootReasonRequested = "RebootRequested"
	// RebootReasonIssued is the reason of True from then until the node is ready with a new boot ID.
	RebootReasonIssued = "RebootIssued"
	// RebootReasonSucceeded is the reason of False after that.
	RebootReasonSucceeded = "RebootSucceeded"
	// RebootReasonFailed is the reason of False if the reboot was not possible or the node did not return.
	RebootReasonFailed = "RebootFailed"
)

// ConditionList implements condition.Object.
func (n *NodeClaim) ConditionList() *[]metav1.Condition { return &n.Status.Conditions }

// ConditionTypes implements condition.Object.
func (n *NodeClaim) ConditionTypes() condition.Types {
	return condition.Types{
		Root:       ConditionTypeReady,
		Dependents: []string{ConditionTypeLaunched, ConditionTypeRegistered, ConditionTypeInitialized},
	}
}
