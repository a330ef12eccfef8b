package provider

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	legacyv1alpha1 "github.com/karpenter-anew/karpenter/api/legacy/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/aws/instance"
)

// Name is the provider's name in metrics.
const Name = "aws"

// Cloud is the AWS provider with its registration for Karpenter.
func (p *Provider) Cloud() cloud.Cloud {
	return cloud.Cloud{
		Name: Name, Provider: p, Rebooter: p, Unavailability: p.Catalog, Labels: awsv1.LabelRules(), ReservationIDLabel: awsv1.LabelCapacityReservationID,
		NodeClasses: []cloud.NodeClass{{
			GVK: awsv1.SchemeGroupVersion.WithKind("EC2NodeClass"), New: func() cloud.NodeClassObject { return &awsv1.EC2NodeClass{} },
		}},
		LegacyKinds:    []schema.GroupVersionKind{legacyv1alpha1.SchemeGroupVersion.WithKind("AWSNodeTemplate")},
		RepairPolicies: repairPolicies(p.RebootForRepair), LegacyRepairPolicies: legacyRepairPolicies(),
		Hooks: []cloud.RegistrationHook{partitionHook{p}}, UseCorrection: p.useCorrection,
	}
}

// partitionHook delays registration until the partition of a node's placement group is known. Claims that name a partition,
// or that are not in such a group, need not wait.
type partitionHook struct{ provider *Provider }

// Name implements cloud.RegistrationHook.
func (partitionHook) Name() string { return "PlacementGroupRegistrationHook" }

// Registered implements cloud.RegistrationHook.
func (h partitionHook) Registered(ctx context.Context, claim *v1.NodeClaim) (cloud.HookResult, error) {
	partition, open := claim.Labels[awsv1.LabelPlacementGroupPartition]
	if claim.Labels[awsv1.LabelPlacementGroupID] == "" || !open || partition != "" {
		return cloud.HookResult{}, nil
	}
	id, ok := instance.ParseProviderID(claim.Status.ProviderID)
	if !ok {
		return cloud.HookResult{Requeue: true}, nil
	}
	i, err := h.provider.Instances.Look(ctx, id)
	switch {
	case errors.Is(err, instance.ErrNotFound):
		return cloud.HookResult{Requeue: true}, nil
	case err != nil:
		return cloud.HookResult{}, fmt.Errorf("finding the partition of nodeclaim %q: %w", claim.Name, err)
	case i.Partition == 0:
		return cloud.HookResult{Requeue: true}, nil
	}
	claim.Labels[awsv1.LabelPlacementGroupPartition] = strconv.Itoa(int(i.Partition))
	return cloud.HookResult{}, nil
}
