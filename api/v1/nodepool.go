package v1

import (
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/condition"
)

// NodePool describes a family of nodes that Karpenter may create, limit and disrupt.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=nodepools,scope=Cluster,categories=karpenter
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.nodes
// +kubebuilder:printcolumn:name="NodeClass",type="string",JSONPath=".spec.template.spec.nodeClassRef.name",description=""
// +kubebuilder:printcolumn:name="Nodes",type="string",JSONPath=".status.nodes",description=""
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description=""
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description=""
// +kubebuilder:printcolumn:name="Weight",type="integer",JSONPath=".spec.weight",priority=1,description=""
// +kubebuilder:printcolumn:name="CPU",type="string",JSONPath=".status.resources.cpu",priority=1,description=""
// +kubebuilder:printcolumn:name="Memory",type="string",JSONPath=".status.resources.memory",priority=1,description=""
type NodePool struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what is wanted of the pool.
	// +required
	Spec NodePoolSpec `json:"spec"`
	// status is what was observed of the pool.
	// +optional
	Status NodePoolStatus `json:"status,omitempty"`
}

// NodePoolList is a list of NodePools.
//
// +kubebuilder:object:root=true
type NodePoolList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []NodePool `json:"items"`
}

// NodePoolSpec is the wanted state of a NodePool.
//
// +kubebuilder:validation:XValidation:message="a NodePool cannot change between static and dynamic: 'replicas' must stay set or stay unset",rule="has(self.replicas) == has(oldSelf.replicas)"
// +kubebuilder:validation:XValidation:message="a NodePool with 'replicas' may limit only 'nodes'",rule="!has(self.replicas) || !has(self.limits) || size(self.limits) == 0 || (size(self.limits) == 1 && 'nodes' in self.limits)"
// +kubebuilder:validation:XValidation:message="'replicas' and 'weight' exclude each other",rule="!has(self.replicas) || !has(self.weight)"
type NodePoolSpec struct {
	// template is the blueprint of the NodeClaims that this pool creates.
	// +required
	Template NodeClaimTemplate `json:"template"`
	// disruption says when and how fast nodes of this pool may be replaced or removed voluntarily.
	// +kubebuilder:default:={consolidateAfter: "0s"}
	// +optional
	Disruption Disruption `json:"disruption"`
	// limits are ceilings on the capacity this pool may provision in total. The key "nodes" limits the number of
	// nodes.
	// +optional
	Limits Limits `json:"limits,omitzero"`
	// weight orders pools: a pool with a larger weight is tried first. Absent counts as 0.
	// +kubebuilder:validation:Minimum:=1
	// +kubebuilder:validation:Maximum:=100
	// +optional
	Weight *int32 `json:"weight,omitempty"`
	// replicas makes the pool static: it keeps exactly this number of nodes, whatever pods are pending. This is an
	// alpha field.
	// +kubebuilder:validation:Minimum:=0
	// +optional
	Replicas *int64 `json:"replicas,omitempty"`
}

// Limits are ceilings per resource name.
type Limits corev1.ResourceList

// Exceeded is the first resource, by name, of which more is used than its limit; empty if there is none. What is exactly at
// its limit does not exceed it.
func (l Limits) Exceeded(used corev1.ResourceList) corev1.ResourceName {
	for _, name := range slices.Sorted(maps.Keys(l)) {
		if amount := used[name]; amount.Cmp(l[name]) > 0 {
			return name
		}
	}
	return ""
}

// Nodes returns the limit of the number of nodes, at most what an int64 holds, and whether there is one.
func (l Limits) Nodes() (n int64, limited bool) {
	q, limited := l[ResourceNodes]
	switch {
	case q.CmpInt64(math.MaxInt64) >= 0:
		return math.MaxInt64, limited
	case q.Sign() <= 0:
		return 0, limited
	}
	return q.Value(), limited
}

// NodeClaimTemplate is the blueprint from which a pool makes its NodeClaims. The names and the order of its fields,
// and of the types below it, take part in the template hash.
type NodeClaimTemplate struct {
	// metadata holds labels and annotations for the NodeClaims and Nodes of the pool.
	// +optional
	ObjectMeta `json:"metadata,omitzero"`
	// spec holds the wanted properties of the NodeClaims of the pool.
	// +required
	Spec NodeClaimTemplateSpec `json:"spec"`
}

// ObjectMeta is the part of an object's metadata that a template can set.
type ObjectMeta struct {
	// labels are put on every NodeClaim and Node of the pool. Scheduling treats each of them as a requirement with
	// one value.
	// +kubebuilder:validation:MaxProperties:=100
	// +kubebuilder:validation:XValidation:message="label domain \"karpenter.sh\" is restricted",rule="self.all(k, k in ['karpenter.sh/capacity-type', 'karpenter.sh/nodepool'] || !k.matches('^[^/]*karpenter[.]sh(/|$)'))"
	// +kubebuilder:validation:XValidation:message="label \"karpenter.sh/nodepool\" is restricted",rule="self.all(k, k != 'karpenter.sh/nodepool')"
	// +kubebuilder:validation:XValidation:message="label \"kubernetes.io/hostname\" is restricted",rule="self.all(k, k != 'kubernetes.io/hostname')"
	// +mapType=atomic
	// +optional
	Labels map[string]string `json:"labels,omitzero"`
	// annotations are copied to the NodeClaims of the pool and from there to their Nodes.
	// +mapType=granular
	// +optional
	Annotations map[string]string `json:"annotations,omitzero"`
}

// NodeClaimTemplateSpec is what a pool wants of its NodeClaims. Requirements take no part in the template hash: a change
// of theirs is found by comparing them with the labels of the claim.
type NodeClaimTemplateSpec struct {
	// taints stay on the nodes of this pool. Only pods that tolerate them cause nodes to be created here.
	// +listType=atomic
	// +optional
	Taints []corev1.Taint `json:"taints,omitzero"`
	// startupTaints are on a node when it joins and are removed by some agent later. They are ignored when deciding
	// whether a pod fits a new node, and the node is not initialized before they are gone.
	// +listType=atomic
	// +optional
	StartupTaints []corev1.Taint `json:"startupTaints,omitzero"`
	// requirements restrict the labels, and thereby the instance types, zones and capacity types, of every node of
	// the pool.
	// +kubebuilder:validation:XValidation:message="operator 'In' needs at least one value",rule="self.all(r, r.operator != 'In' || (has(r.values) && size(r.values) != 0))"
	// +kubebuilder:validation:XValidation:message="operators 'Gt', 'Lt', 'Gte' and 'Lte' need exactly one value, an integer that is not negative",rule="self.all(r, !(r.operator in ['Gt', 'Lt', 'Gte', 'Lte']) || (has(r.values) && size(r.values) == 1 && int(r.values[0]) >= 0))"
	// +kubebuilder:validation:XValidation:message="operator 'In' with 'minValues' needs at least that many values",rule="self.all(r, r.operator != 'In' || !has(r.minValues) || (has(r.values) && size(r.values) >= r.minValues))"
	// +kubebuilder:validation:MaxItems:=100
	// +listType=atomic
	// +required
	Requirements []NodeSelectorRequirementWithMinValues `json:"requirements" hash:"ignore"`
	// nodeClassRef points to the object that holds the cloud's own settings.
	// +kubebuilder:validation:XValidation:message="nodeClassRef.group is immutable",rule="self.group == oldSelf.group"
	// +kubebuilder:validation:XValidation:message="nodeClassRef.kind is immutable",rule="self.kind == oldSelf.kind"
	// +required
	NodeClassRef *NodeClassReference `json:"nodeClassRef"`
	// terminationGracePeriod is the longest time between the request to delete a node and the forced deletion of its
	// pods. At its end PodDisruptionBudgets and the do-not-disrupt annotation are overridden. Absent means to wait
	// for as long as it takes, 0s means to force at once.
	// +kubebuilder:validation:XValidation:message="longer than 292 years",rule="!self.matches('^([0-9]+(s|m|h))+$') || duration(self) >= duration('0s')"
	// +kubebuilder:validation:Pattern:=`^([0-9]+(s|m|h))+$`
	// +kubebuilder:validation:Type:="string"
	// +optional
	TerminationGracePeriod *metav1.Duration `json:"terminationGracePeriod,omitempty"`
	// expireAfter is the longest time a node may exist, counted from the creation of its NodeClaim; then it is
	// deleted, whatever runs there. Never turns expiry off.
	// +kubebuilder:default:="720h"
	// +kubebuilder:validation:XValidation:message="longer than 292 years, write Never",rule="!self.matches('^([0-9]+(s|m|h))+$') || duration(self) >= duration('0s')"
	// +kubebuilder:validation:Pattern:=`^(([0-9]+(s|m|h))+|Never)$`
	// +kubebuilder:validation:Type:="string"
	// +kubebuilder:validation:Schemaless
	// +optional
	ExpireAfter NillableDuration `json:"expireAfter,omitempty"`
}

// NodeClassReference points to the cloud's own settings object, in any version.
type NodeClassReference struct {
	// kind of the node class.
	// +kubebuilder:validation:XValidation:message="kind must not be empty",rule="self != ''"
	// +required
	Kind string `json:"kind"`
	// name of the node class.
	// +kubebuilder:validation:XValidation:message="name must not be empty",rule="self != ''"
	// +required
	Name string `json:"name"`
	// group of the node class, without a version.
	// +kubebuilder:validation:XValidation:message="group must not be empty",rule="self != ''"
	// +kubebuilder:validation:Pattern:=`^[^/]*$`
	// +required
	Group string `json:"group"`
}

// NodePoolStatus is the observed state of a NodePool.
type NodePoolStatus struct {
	// resources is the capacity of the pool's nodes, summed up.
	// +optional
	Resources corev1.ResourceList `json:"resources,omitempty"`
	// nodes is the number of nodes in the pool.
	// +kubebuilder:default:=0
	// +optional
	Nodes *int64 `json:"nodes"`
	// nodeClassObservedGeneration is the generation of the node class that was last seen. When it changes, the
	// pool's registration health is unknown again.
	// +optional
	NodeClassObservedGeneration int64 `json:"nodeClassObservedGeneration,omitempty"`
	// conditions tell whether the pool is usable, and why not.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Conditions of a NodePool. NodeRegistrationHealthy does not influence Ready.
const (
	ConditionTypeReady                   = "Ready"
	ConditionTypeValidationSucceeded     = "ValidationSucceeded"
	ConditionTypeNodeClassReady          = "NodeClassReady"
	ConditionTypeNodeRegistrationHealthy = "NodeRegistrationHealthy"
	// ConditionTypeBudgetsValid is False while a disruption budget cannot be read, and absent otherwise.
	ConditionTypeBudgetsValid = "BudgetsValid"
	// ConditionTypeInstanceTypesFound is False while the requirements leave no instance type, and absent otherwise.
	ConditionTypeInstanceTypesFound = "InstanceTypesFound"
	// ConditionTypeReplicasKept is False while replicas are set that the controller does not keep, and absent otherwise.
	ConditionTypeReplicasKept = "ReplicasKept"
)

// Reasons of ConditionTypeReplicasKept, and of the events with it.
const (
	// ReasonStaticCapacityDisabled means that the feature gate StaticCapacity is off.
	ReasonStaticCapacityDisabled = "StaticCapacityDisabled"
	// ReasonNodeLimitBelowReplicas means that limits.nodes is less than replicas.
	ReasonNodeLimitBelowReplicas = "NodeLimitBelowReplicas"
)

// ConditionList implements condition.Object.
func (n *NodePool) ConditionList() *[]metav1.Condition { return &n.Status.Conditions }

// ConditionTypes implements condition.Object.
func (n *NodePool) ConditionTypes() condition.Types {
	return condition.Types{
		Root:       ConditionTypeReady,
		Dependents: []string{ConditionTypeValidationSucceeded, ConditionTypeNodeClassReady},
	}
}
