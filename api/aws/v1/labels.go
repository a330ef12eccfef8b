package v1

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// Labels of EC2 instances.
const (
	LabelNodeClass                        = Group + "/ec2nodeclass"
	LabelInstanceTenancy                  = Group + "/instance-tenancy"
	LabelCapacityReservationType          = Group + "/capacity-reservation-type"
	LabelCapacityReservationID            = Group + "/capacity-reservation-id"
	LabelCapacityReservationInterruptible = Group + "/capacity-reservation-interruptible"
	LabelInstanceEncryptionInTransit      = Group + "/instance-encryption-in-transit-supported"
	LabelNitroSandbox                     = Group + "/nitro-sandbox"
	LabelInstanceCategory                 = Group + "/instance-category"
	LabelInstanceHypervisor               = Group + "/instance-hypervisor"
	LabelInstanceFamily                   = Group + "/instance-family"
	LabelInstanceGeneration               = Group + "/instance-generation"
	LabelInstanceLocalNVMe                = Group + "/instance-local-nvme"
	LabelInstanceSize                     = Group + "/instance-size"
	LabelInstanceCPU                      = Group + "/instance-cpu"
	LabelInstanceCPUManufacturer          = Group + "/instance-cpu-manufacturer"
	LabelInstanceCPUClockSpeed            = Group + "/instance-cpu-sustained-clock-speed-mhz"
	LabelInstanceMemory                   = Group + "/instance-memory"
	LabelInstanceEBSBandwidth             = Group + "/instance-ebs-bandwidth"
	LabelInstanceNetworkBandwidth         = Group + "/instance-network-bandwidth"
	LabelInstanceGPUName                  = Group + "/instance-gpu-name"
	LabelInstanceGPUManufacturer          = Group + "/instance-gpu-manufacturer"
	LabelInstanceGPUCount                 = Group + "/instance-gpu-count"
	LabelInstanceGPUMemory                = Group + "/instance-gpu-memory"
	LabelInstanceAcceleratorName          = Group + "/instance-accelerator-name"
	LabelInstanceAcceleratorManufacturer  = Group + "/instance-accelerator-manufacturer"
	LabelInstanceAcceleratorCount         = Group + "/instance-accelerator-count"
	LabelInstanceCapabilityFlex           = Group + "/instance-capability-flex"
	LabelPlacementGroupID                 = Group + "/placement-group-id"
	LabelPlacementGroupPartition          = Group + "/placement-group-partition"

	// LabelZoneID is the id of the zone, which is the same in all accounts, unlike its name.
	LabelZoneID = "topology.k8s.aws/zone-id"
	// LabelEBSZone is the name that the EBS CSI driver has for the zone.
	LabelEBSZone = "topology.ebs.csi.aws.com/zone"
)

// Values of LabelInstanceTenancy.
const (
	TenancyDefault   = "default"
	TenancyDedicated = "dedicated"
)

// Annotations of classes and NodeClaims.
const (
	// AnnotationHash holds the static hash of the class, in decimal.
	AnnotationHash = Group + "/ec2nodeclass-hash"
	// AnnotationHashVersion holds the version of the hash; hashes of different versions are not compared.
	AnnotationHashVersion = Group + "/ec2nodeclass-hash-version"
	// AnnotationInstanceProfile names the instance profile a NodeClaim was launched with, which must not be collected.
	AnnotationInstanceProfile = Group + "/instance-profile-name"
	// AnnotationTagged is "true" once the instance has the tags that are known only after registration.
	AnnotationTagged = Group + "/tagged"
	// AnnotationClusterNameTagged is "true" once the instance has the tag with the cluster's name.
	AnnotationClusterNameTagged = "compatibility." + Group + "/cluster-name-tagged"
)

// TerminationFinalizer is on classes while NodeClaims refer to them.
const TerminationFinalizer = Group + "/termination"

// Tags of what Karpenter makes in EC2 and IAM.
const (
	TagNodePool    = v1.NodePoolLabelKey
	TagNodeClass   = LabelNodeClass
	TagNodeClaim   = v1.Group + "/nodeclaim"
	TagClusterName = "eks:eks-cluster-name"
	TagRegion      = corev1.LabelTopologyRegion
	TagName        = "Name"

	// tagClusterOwnedPrefix is followed by the cluster's name.
	tagClusterOwnedPrefix = "kubernetes.io/cluster/"
	// TagValueOwned is the value of the tag that ClusterOwnedTag names.
	TagValueOwned = "owned"
)

// ClusterOwnedTag is the key of the tag of everything that belongs to a cluster.
func ClusterOwnedTag(cluster string) string { return tagClusterOwnedPrefix + cluster }

// Extended resources of EC2 instances.
const (
	ResourceNVIDIAGPU          corev1.ResourceName = "nvidia.com/gpu"
	ResourceAMDGPU             corev1.ResourceName = "amd.com/gpu"
	ResourceNeuron             corev1.ResourceName = "aws.amazon.com/neuron"
	ResourceNeuronCore         corev1.ResourceName = "aws.amazon.com/neuroncore"
	ResourceGaudi              corev1.ResourceName = "habana.ai/gaudi"
	ResourcePodENI             corev1.ResourceName = "vpc.amazonaws.com/pod-eni"
	ResourcePrivateIPv4Address corev1.ResourceName = "vpc.amazonaws.com/PrivateIPv4Address"
	ResourceEFA                corev1.ResourceName = "vpc.amazonaws.com/efa"
)

// InstanceLabels are the labels that say what an instance type is, whatever it is bought as. Overlays may ask for these
// and no others of the domain. The caller owns the result.
func InstanceLabels() []string {
	return []string{
		LabelNodeClass, LabelInstanceEncryptionInTransit, LabelNitroSandbox, LabelInstanceCategory, LabelInstanceHypervisor,
		LabelInstanceFamily, LabelInstanceGeneration, LabelInstanceLocalNVMe, LabelInstanceSize, LabelInstanceCPU,
		LabelInstanceCPUManufacturer, LabelInstanceCPUClockSpeed, LabelInstanceMemory, LabelInstanceEBSBandwidth,
		LabelInstanceNetworkBandwidth, LabelInstanceGPUName, LabelInstanceGPUManufacturer, LabelInstanceGPUCount,
		LabelInstanceGPUMemory, LabelInstanceAcceleratorName, LabelInstanceAcceleratorManufacturer,
		LabelInstanceAcceleratorCount, LabelInstanceCapabilityFlex,
	}
}

// LaunchLabels are the labels that say how an instance is bought and where it is put. The caller owns the result.
func LaunchLabels() []string {
	return []string{
		LabelInstanceTenancy, LabelCapacityReservationType, LabelCapacityReservationID, LabelCapacityReservationInterruptible,
		LabelPlacementGroupID, LabelPlacementGroupPartition,
	}
}

// LabelRules are the core's rules with the labels of EC2 instances. The label that names the class is set by Karpenter:
// claims carry it, but users may not ask for it.
func LabelRules() v1.LabelRules {
	wellKnown := slices.Concat(InstanceLabels(), LaunchLabels(), []string{LabelZoneID})
	wellKnown = slices.DeleteFunc(wellKnown, func(key string) bool { return key == LabelNodeClass })
	rules := v1.CoreLabelRules().With(wellKnown, []string{Group})
	rules.Aliases = maps.Clone(rules.Aliases)
	rules.Aliases[LabelEBSZone] = corev1.LabelTopologyZone
	rules.KnownValues = maps.Clone(rules.KnownValues)
	rules.KnownValues[LabelInstanceTenancy] = []string{TenancyDefault, TenancyDedicated}
	return rules
}
