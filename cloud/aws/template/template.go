// Package template makes the launch templates of EC2: all settings of an instance that are equal across instance types and zones. It
// computes the content of a template without API calls; the manager creates templates and deletes those that were not used for a
// while.
//
// Source: AWS provider specification, launch templates.
package template

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/family"
)

// namePrefix is the prefix of the names of Karpenter's launch templates.
const namePrefix = "karpenter.k8s.aws/"

// Input is everything that a launch template depends on.
type Input struct {
	Class *awsv1.EC2NodeClass
	// Tags are set on all created resources.
	Tags map[string]string
	// UserData is base64.
	UserData, ImageID     string
	CapacityType, Tenancy string
	PlacementGroupID      string
	Partition             string
	EFAs                  int64
	IPv6                  bool
	MetadataHasNoIPv6     bool
	Reservation           *awsv1.CapacityReservation
	ReservesCapacity      bool
}

// Build returns the call that creates the template. Its name is a hash of its content, so that equal templates are one. A class
// without security groups or profile cannot be launched.
func Build(in Input) (*ec2.CreateLaunchTemplateInput, error) {
	status := in.Class.Status
	switch {
	case len(status.SecurityGroups) == 0:
		return nil, errors.New("no security groups are present in the status")
	case status.InstanceProfile == "":
		return nil, errors.New("no instance profile is present in the status")
	}
	placement, err := in.placement()
	if err != nil {
		return nil, err
	}
	data := &ec2types.RequestLaunchTemplateData{
		BlockDeviceMappings: in.disks(),
		IamInstanceProfile:  &ec2types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: aws.String(status.InstanceProfile)},
		Monitoring:          &ec2types.LaunchTemplatesMonitoringRequest{Enabled: aws.Bool(aws.ToBool(in.Class.Spec.DetailedMonitoring))},
		UserData:            aws.String(in.UserData),
		ImageId:             aws.String(in.ImageID),
		MetadataOptions:     in.metadata(),
		NetworkInterfaces:   in.interfaces(),
		Placement:           placement,
		EnclaveOptions:      &ec2types.LaunchTemplateEnclaveOptionsRequest{Enabled: aws.Bool(in.Class.Spec.EnclaveOptions != nil && in.Class.Spec.EnclaveOptions.Enabled)},
		TagSpecifications:   in.tags(),
	}
	if o := in.Class.Spec.CPUOptions; o != nil && o.NestedVirtualization != nil {
		data.CpuOptions = &ec2types.LaunchTemplateCpuOptionsRequest{NestedVirtualization: ec2types.NestedVirtualizationSpecification(*o.NestedVirtualization)}
	}
	in.reserve(data)
	own := []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeLaunchTemplate, Tags: Tags(in.Tags)}}
	name, err := nameOf(data, own)
	if err != nil {
		return nil, err
	}
	return &ec2.CreateLaunchTemplateInput{LaunchTemplateName: aws.String(name), LaunchTemplateData: data, TagSpecifications: own}, nil
}

// nameOf is the name of a template, computed from its content.
func nameOf(data *ec2types.RequestLaunchTemplateData, own []ec2types.TagSpecification) (string, error) {
	text, err := json.Marshal([]any{data, own})
	if err != nil {
		return "", fmt.Errorf("naming a launch template: %w", err)
	}
	sum := fnv.New64a()
	_, _ = sum.Write(text) // never fails
	return namePrefix + strconv.FormatUint(sum.Sum64(), 10), nil
}

// Tags are tags in the format of EC2, in order of key.
func Tags(tags map[string]string) []ec2types.Tag {
	var out []ec2types.Tag
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, ec2types.Tag{Key: aws.String(key), Value: aws.String(tags[key])})
	}
	return out
}

// tags are for resources that EC2 creates from the template and the fleet does not tag.
func (in *Input) tags() []ec2types.LaunchTemplateTagSpecificationRequest {
	kinds := []ec2types.ResourceType{ec2types.ResourceTypeNetworkInterface}
	if in.CapacityType == v1.CapacityTypeSpot {
		kinds = append(kinds, ec2types.ResourceTypeSpotInstancesRequest)
	}
	var out []ec2types.LaunchTemplateTagSpecificationRequest
	for _, kind := range kinds {
		out = append(out, ec2types.LaunchTemplateTagSpecificationRequest{ResourceType: kind, Tags: Tags(in.Tags)})
	}
	return out
}

// placement is the placement of the instance.
func (in *Input) placement() (*ec2types.LaunchTemplatePlacementRequest, error) {
	out := &ec2types.LaunchTemplatePlacementRequest{Tenancy: ec2types.Tenancy(in.Tenancy)}
	if in.PlacementGroupID != "" {
		out.GroupId = aws.String(in.PlacementGroupID)
	}
	if in.Partition != "" {
		n, err := strconv.ParseInt(in.Partition, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("partition %q is not a number: %w", in.Partition, err)
		}
		out.PartitionNumber = aws.Int32(int32(n))
	}
	return out, nil
}

// reserve targets a reservation, or excludes all. If the feature is off, open reservations may match the instance.
func (in *Input) reserve(data *ec2types.RequestLaunchTemplateData) {
	if !in.ReservesCapacity {
		return
	}
	data.CapacityReservationSpecification = &ec2types.LaunchTemplateCapacityReservationSpecificationRequest{
		CapacityReservationPreference: ec2types.CapacityReservationPreferenceNone,
	}
	r := in.Reservation
	if r == nil {
		return
	}
	data.CapacityReservationSpecification = &ec2types.LaunchTemplateCapacityReservationSpecificationRequest{
		CapacityReservationPreference: ec2types.CapacityReservationPreferenceCapacityReservationsOnly,
		CapacityReservationTarget:     &ec2types.CapacityReservationTarget{CapacityReservationId: aws.String(r.ID)},
	}
	switch {
	case r.ReservationType == awsv1.CapacityReservationTypeCapacityBlock:
		data.InstanceMarketOptions = &ec2types.LaunchTemplateInstanceMarketOptionsRequest{MarketType: ec2types.MarketTypeCapacityBlock}
	case r.Interruptible:
		data.InstanceMarketOptions = &ec2types.LaunchTemplateInstanceMarketOptionsRequest{MarketType: "interruptible-capacity-reservation"}
	}
}

// metadata are the options of the instance metadata service. Tags are not available there, because their keys have slashes.
func (in *Input) metadata() *ec2types.LaunchTemplateInstanceMetadataOptionsRequest {
	out := &ec2types.LaunchTemplateInstanceMetadataOptionsRequest{
		HttpEndpoint: ec2types.LaunchTemplateInstanceMetadataEndpointStateEnabled, HttpTokens: ec2types.LaunchTemplateHttpTokensStateRequired,
		HttpPutResponseHopLimit: aws.Int32(1), InstanceMetadataTags: ec2types.LaunchTemplateInstanceMetadataTagsStateDisabled,
	}
	if !in.MetadataHasNoIPv6 {
		out.HttpProtocolIpv6 = ec2types.LaunchTemplateInstanceMetadataProtocolIpv6Disabled
	}
	o := in.Class.Spec.MetadataOptions
	if o == nil {
		return out
	}
	if o.HTTPEndpoint != nil {
		out.HttpEndpoint = ec2types.LaunchTemplateInstanceMetadataEndpointState(*o.HTTPEndpoint)
	}
	if o.HTTPTokens != nil {
		out.HttpTokens = ec2types.LaunchTemplateHttpTokensState(*o.HTTPTokens)
	}
	if o.HTTPPutResponseHopLimit != nil {
		out.HttpPutResponseHopLimit = aws.Int32(int32(*o.HTTPPutResponseHopLimit))
	}
	if o.HTTPProtocolIPv6 != nil && !in.MetadataHasNoIPv6 {
		out.HttpProtocolIpv6 = ec2types.LaunchTemplateInstanceMetadataProtocolIpv6(*o.HTTPProtocolIPv6)
	}
	return out
}

// disks are the block device mappings of the class, or else those of its family.
func (in *Input) disks() []ec2types.LaunchTemplateBlockDeviceMappingRequest {
	mappings := in.Class.Spec.BlockDeviceMappings
	if len(mappings) == 0 {
		mappings = family.BlockDevices(in.Class.Family())
	}
	var out []ec2types.LaunchTemplateBlockDeviceMappingRequest
	for _, m := range mappings {
		request := ec2types.LaunchTemplateBlockDeviceMappingRequest{DeviceName: m.DeviceName}
		if e := m.EBS; e != nil {
			request.Ebs = &ec2types.LaunchTemplateEbsBlockDeviceRequest{
				DeleteOnTermination: e.DeleteOnTermination, Encrypted: e.Encrypted, KmsKeyId: e.KMSKeyID, SnapshotId: e.SnapshotID,
				VolumeType: ec2types.VolumeType(aws.ToString(e.VolumeType)), Iops: number(e.IOPS), Throughput: number(e.Throughput),
				VolumeInitializationRate: e.VolumeInitializationRate,
			}
			if e.VolumeSize != nil {
				request.Ebs.VolumeSize = aws.Int32(int32((e.VolumeSize.Value() + 1<<30 - 1) >> 30))
			}
		}
		out = append(out, request)
	}
	return out
}

// number is a number in the format of EC2; nil for 0.
func number(n *int64) *int32 {
	if n == nil || *n == 0 {
		return nil
	}
	return aws.Int32(int32(*n))
}
