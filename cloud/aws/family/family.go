// Package family has the differences between image families: how they count pods and memory, which disks an instance has
// by default, and which kubelet settings apply. It makes no calls and has no state.
//
// Source: AWS provider specification, image families.
package family

import (
	"k8s.io/apimachinery/pkg/api/resource"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
)

// Traits are what matters of a family outside of its user data.
type Traits struct {
	// MemoryByInterfaces says that the kubelet's memory is reserved for as many pods as the interfaces have addresses for,
	// however many pods are allowed.
	MemoryByInterfaces bool
	// PodsPerCore says that the setting podsPerCore counts.
	PodsPerCore bool
	// PodsByInterfaces says that the number of pods follows from the addresses of the interfaces.
	PodsByInterfaces bool
	// AnyKubeletField says that every field of the kubelet's configuration reaches the node.
	AnyKubeletField bool
	// KubeletIgnored says that the kubelet block does not apply to the node, as documented.
	KubeletIgnored bool
	// WindowsBuild is the build number of Windows; empty for Linux.
	WindowsBuild string
	// EphemeralDevice is the disk for ephemeral storage; empty when unknown.
	EphemeralDevice string
}

// TraitsOf are the traits of a family. An unknown family is treated as Custom.
func TraitsOf(family awsv1.Family) Traits {
	switch family {
	case awsv1.FamilyAL2:
		return Traits{MemoryByInterfaces: true, PodsPerCore: true, PodsByInterfaces: true, EphemeralDevice: "/dev/xvda"}
	case awsv1.FamilyAL2023:
		return Traits{MemoryByInterfaces: true, PodsPerCore: true, PodsByInterfaces: true, AnyKubeletField: true, EphemeralDevice: "/dev/xvda"}
	case awsv1.FamilyBottlerocket:
		return Traits{PodsByInterfaces: true, EphemeralDevice: "/dev/xvdb"}
	case awsv1.FamilyWindows2019:
		return Traits{PodsPerCore: true, WindowsBuild: "10.0.17763", EphemeralDevice: "/dev/sda1"}
	case awsv1.FamilyWindows2022:
		return Traits{PodsPerCore: true, WindowsBuild: "10.0.20348", EphemeralDevice: "/dev/sda1"}
	case awsv1.FamilyWindows2025:
		return Traits{PodsPerCore: true, WindowsBuild: "10.0.26100", EphemeralDevice: "/dev/sda1"}
	default:
		return Traits{MemoryByInterfaces: true, PodsPerCore: true, PodsByInterfaces: true, KubeletIgnored: true}
	}
}

// BlockDevices are the disks of a family if the class has none; none for Custom, whose image decides.
func BlockDevices(family awsv1.Family) []*awsv1.BlockDeviceMapping {
	switch family {
	case awsv1.FamilyAL2, awsv1.FamilyAL2023:
		return []*awsv1.BlockDeviceMapping{disk("/dev/xvda", "20Gi")}
	case awsv1.FamilyBottlerocket:
		return []*awsv1.BlockDeviceMapping{disk("/dev/xvda", "6Gi"), disk("/dev/xvdb", "20Gi")}
	case awsv1.FamilyWindows2019, awsv1.FamilyWindows2022, awsv1.FamilyWindows2025:
		return []*awsv1.BlockDeviceMapping{disk("/dev/sda1", "50Gi")}
	default:
		return nil
	}
}

// disk is an encrypted volume of the usual kind.
func disk(name, size string) *awsv1.BlockDeviceMapping {
	return &awsv1.BlockDeviceMapping{DeviceName: &name, EBS: &awsv1.BlockDevice{
		Encrypted: new(true), VolumeType: new("gp3"), VolumeSize: new(resource.MustParse(size)),
	}}
}
