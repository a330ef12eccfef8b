package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/condition"
)

// EC2NodeClassStatus is what the settings of a class were found to mean in the account.
type EC2NodeClassStatus struct {
	// subnets are the subnets that the selector matches, those with the most free addresses first.
	// +listType=atomic
	// +optional
	Subnets []Subnet `json:"subnets,omitempty"`
	// securityGroups are the groups that the selector matches, by id.
	// +listType=atomic
	// +optional
	SecurityGroups []SecurityGroup `json:"securityGroups,omitempty"`
	// capacityReservations are the reservations that the selector matches, by id.
	// +listType=atomic
	// +optional
	CapacityReservations []CapacityReservation `json:"capacityReservations,omitempty"`
	// amis are the images that instances may start from, the newest first.
	// +listType=atomic
	// +optional
	AMIs []AMI `json:"amis,omitempty"`
	// instanceProfile is the name of the instance profile in use.
	// +optional
	InstanceProfile string `json:"instanceProfile,omitempty"`
	// conditions tell whether the class can be used, and what is missing.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Subnet is a subnet that the selector matches.
type Subnet struct {
	// id of the subnet.
	// +required
	ID string `json:"id"`
	// zone is the name of the subnet's zone, which differs between accounts.
	// +required
	Zone string `json:"zone"`
	// zoneID is the id of the subnet's zone, the same in all accounts.
	// +optional
	ZoneID string `json:"zoneID,omitempty"`
}

// SecurityGroup is a security group that the selector matches.
type SecurityGroup struct {
	// id of the group.
	// +required
	ID string `json:"id"`
	// name of the group.
	// +optional
	Name string `json:"name,omitempty"`
}

// AMI is an image that instances may start from.
type AMI struct {
	// id of the image.
	// +required
	ID string `json:"id"`
	// deprecated says that the owner has replaced the image.
	// +optional
	Deprecated bool `json:"deprecated,omitempty"`
	// name of the image.
	// +optional
	Name string `json:"name,omitempty"`
	// requirements are what the image asks of instance types.
	// +listType=atomic
	// +required
	Requirements []corev1.NodeSelectorRequirement `json:"requirements"`
}

// CapacityReservationType tells reservations that last from blocks that end.
type CapacityReservationType string

// Types of capacity reservations.
const (
	CapacityReservationTypeDefault       CapacityReservationType = "default"
	CapacityReservationTypeCapacityBlock CapacityReservationType = "capacity-block"
)

// CapacityReservationState tells whether new instances should go into a reservation.
type CapacityReservationState string

// States of capacity reservations.
const (
	CapacityReservationStateActive   CapacityReservationState = "active"
	CapacityReservationStateExpiring CapacityReservationState = "expiring"
)

// CapacityReservation is a capacity reservation that the selector matches.
type CapacityReservation struct {
	// availabilityZone is the name of the zone.
	// +required
	AvailabilityZone string `json:"availabilityZone"`
	// endTime is when the reservation ends; absent if it does not.
	// +optional
	EndTime *metav1.Time `json:"endTime,omitempty" hash:"ignore"`
	// id of the reservation.
	// +kubebuilder:validation:Pattern:=`^cr-[0-9a-z]+$`
	// +required
	ID string `json:"id"`
	// instanceMatchCriteria is how instances get into the reservation.
	// +kubebuilder:validation:Enum:={open,targeted}
	// +required
	InstanceMatchCriteria string `json:"instanceMatchCriteria"`
	// instanceType is the type that is reserved.
	// +required
	InstanceType string `json:"instanceType"`
	// ownerID is the account that owns the reservation.
	// +kubebuilder:validation:Pattern:=`^[0-9]{12}$`
	// +required
	OwnerID string `json:"ownerID"`
	// reservationType tells reservations that last from capacity blocks.
	// +kubebuilder:default:=default
	// +kubebuilder:validation:Enum:={default,capacity-block}
	// +optional
	ReservationType CapacityReservationType `json:"reservationType,omitempty"`
	// interruptible says that the owner may take the capacity back.
	// +optional
	Interruptible bool `json:"interruptible,omitempty"`
	// state is expiring shortly before a capacity block ends; nothing is launched into it then.
	// +kubebuilder:default:=active
	// +kubebuilder:validation:Enum:={active,expiring}
	// +optional
	State CapacityReservationState `json:"state,omitempty"`
}

// Conditions of an EC2NodeClass.
const (
	ConditionTypeReady                     = "Ready"
	ConditionTypeSubnetsReady              = "SubnetsReady"
	ConditionTypeSecurityGroupsReady       = "SecurityGroupsReady"
	ConditionTypeAMIsReady                 = "AMIsReady"
	ConditionTypeInstanceProfileReady      = "InstanceProfileReady"
	ConditionTypePlacementGroupReady       = "PlacementGroupReady"
	ConditionTypeCapacityReservationsReady = "CapacityReservationsReady"
	ConditionTypeValidationSucceeded       = "ValidationSucceeded"
)

// ConditionList implements condition.Object.
func (c *EC2NodeClass) ConditionList() *[]metav1.Condition { return &c.Status.Conditions }

// ConditionTypes implements condition.Object. Where reservations are used, see Reserving.
func (c *EC2NodeClass) ConditionTypes() condition.Types {
	return condition.Types{Root: ConditionTypeReady, Dependents: []string{
		ConditionTypeSubnetsReady, ConditionTypeSecurityGroupsReady, ConditionTypeAMIsReady, ConditionTypeInstanceProfileReady,
		ConditionTypePlacementGroupReady, ConditionTypeValidationSucceeded,
	}}
}

// Reserving is a class whose readiness depends on its capacity reservations too. It is used where the feature is on;
// where it is off, the condition must not even appear.
//
// +kubebuilder:object:generate=false
type Reserving struct{ *EC2NodeClass }

// ConditionTypes implements condition.Object.
func (r Reserving) ConditionTypes() condition.Types {
	types := r.EC2NodeClass.ConditionTypes()
	types.Dependents = append(types.Dependents, ConditionTypeCapacityReservationsReady)
	return types
}
