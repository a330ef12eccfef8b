// Package drift compares an instance with what its node class says today. It makes no calls: what the class's selectors find is
// in the class's status, and the instance comes in as it was described.
//
// Source: AWS provider specification, drift.
package drift

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/aws/image"
)

// Reasons, in the order in which they are looked for.
const (
	NodeClass           cloud.DriftReason = "NodeClassDrift"
	AMI                 cloud.DriftReason = "AMIDrift"
	SecurityGroup       cloud.DriftReason = "SecurityGroupDrift"
	Subnet              cloud.DriftReason = "SubnetDrift"
	CapacityReservation cloud.DriftReason = "CapacityReservationDrift"
	PlacementGroup      cloud.DriftReason = "PlacementGroupDrift"
)

// Instance is the part of EC2's description of an instance on which drift depends.
type Instance struct {
	SecurityGroupIDs []string
	SubnetID         string
	// ReservationID is the capacity reservation that the instance is in; empty for none. It must be fresh: an old answer
	// may name a reservation that has ended.
	ReservationID string
}

// Static is the drift that the annotations of class and claim show; empty for none. Hashes count only when both are there
// and were computed by the same rules.
func Static(class *awsv1.EC2NodeClass, claim *v1.NodeClaim) cloud.DriftReason {
	hash, hashed := class.Annotations[awsv1.AnnotationHash]
	version, versioned := class.Annotations[awsv1.AnnotationHashVersion]
	claimHash, claimHashed := claim.Annotations[awsv1.AnnotationHash]
	claimVersion, claimVersioned := claim.Annotations[awsv1.AnnotationHashVersion]
	if !hashed || !versioned || !claimHashed || !claimVersioned || version != claimVersion || hash == claimHash {
		return ""
	}
	return NodeClass
}

// Image is the drift of a claim's image; empty for none. The type is the one the claim's label names, nil if there is none.
func Image(class *awsv1.EC2NodeClass, claim *v1.NodeClaim, t *cloud.InstanceType) (cloud.DriftReason, error) {
	switch {
	case t == nil:
		return "", fmt.Errorf("looking for drift of the image: instance type %q is unknown", claim.Labels[corev1.LabelInstanceTypeStable])
	case len(class.Status.AMIs) == 0:
		return "", errors.New("looking for drift of the image: no amis exist given constraints")
	case claim.Status.ImageID == "":
		return "", errors.New("looking for drift of the image: the claim has none")
	}
	if chosen, ok := image.Choose(class.Status.AMIs, t); !ok || chosen.ID != claim.Status.ImageID {
		return AMI, nil
	}
	return "", nil
}

// Network is the drift of an instance's place; empty for none. The placement group is the one that the class's selector
// was resolved to, empty if there is none.
func Network(class *awsv1.EC2NodeClass, claim *v1.NodeClaim, instance Instance, placementGroupID string) (cloud.DriftReason, error) {
	var groups, subnets, reservations []string
	for _, g := range class.Status.SecurityGroups {
		groups = append(groups, g.ID)
	}
	for _, s := range class.Status.Subnets {
		subnets = append(subnets, s.ID)
	}
	for _, r := range class.Status.CapacityReservations {
		reservations = append(reservations, r.ID)
	}
	if len(groups) == 0 {
		return "", errors.New("looking for drift of security groups: the class has none")
	}
	if !sameSet(groups, instance.SecurityGroupIDs) {
		return SecurityGroup, nil
	}
	switch {
	case len(subnets) == 0:
		return "", errors.New("looking for drift of the subnet: the class has none")
	case !slices.Contains(subnets, instance.SubnetID):
		return Subnet, nil
	case instance.ReservationID != "" && !slices.Contains(reservations, instance.ReservationID):
		return CapacityReservation, nil
	case claim.Labels[awsv1.LabelPlacementGroupID] != placementGroupID:
		return PlacementGroup, nil
	}
	return "", nil
}

// sameSet reports whether two lists have the same elements.
func sameSet(a, b []string) bool {
	sorted := func(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }
	return slices.Equal(sorted(a), sorted(b))
}
