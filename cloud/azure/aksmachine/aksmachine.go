// Package aksmachine builds the body of the request that creates an AKSMachine, by which AKS creates an
// instance. The SDK has no such request, so that the types of the body are here.
//
// Source: Azure provider specification, launch through AKSMachines.
package aksmachine

import (
	"fmt"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/cloud/azure/family"
	"github.com/karpenter-anew/karpenter/cloud/azure/nodeprofile"
	"github.com/karpenter-anew/karpenter/cloud/azure/zone"
)

// Spec is what an AKSMachine is launched with.
type Spec struct {
	// Zone is the value of the zone label, "0" for regional placement; Size is the VM size.
	Zone, Size string
	// Spot, UltraSSD and EphemeralDisk are as decided for the launch; System says that the node is for system pods.
	Spot, UltraSSD, EphemeralDisk, System bool
	// GPU says that the size has GPUs.
	GPU bool
	// Architecture is amd64 or arm64.
	Architecture string
	// Family is the operating system of the image, ImageVersion the version of node images.
	Family       family.Family
	ImageVersion string
	// KubernetesVersion is the version of the kubelet, without a leading v.
	KubernetesVersion string
	// Labels are those of the node, Taints those it registers with, as key=value:Effect, each once.
	Labels map[string]string
	Taints []string
	// Tags are the tags of the AKSMachine.
	Tags map[string]string
}

// BodyOf returns the body of the request that creates an AKSMachine of a class. It fails if the zone is not a zone of
// Azure, or a size in the class is not a quantity.
func BodyOf(class *v1beta1.AKSNodeClass, spec *Spec) (*Body, error) {
	zones, err := zone.Numbers(spec.Zone)
	if err != nil {
		return nil, fmt.Errorf("reading the zone: %w", err)
	}
	kubelet, err := nodeprofile.KubeletOf(class)
	if err != nil {
		return nil, fmt.Errorf("translating the configuration of the kubelet: %w", err)
	}
	linux, err := nodeprofile.LinuxOSOf(class)
	if err != nil {
		return nil, fmt.Errorf("translating the configuration of Linux: %w", err)
	}
	body := &Body{Zones: zones, Properties: Properties{
		Mode:             choose(spec.System, "System", "User"),
		NodeImageVersion: spec.ImageVersion,
		Hardware:         Hardware{VMSize: spec.Size, UltraSSDEnabled: spec.UltraSSD},
		OperatingSystem: OperatingSystem{
			OSType: "Linux", OSSKU: osSKU(spec.Family), OSDiskSizeGB: class.OSDiskSizeGB(),
			OSDiskType: choose(spec.EphemeralDisk, "Ephemeral", "Managed"), EnableFIPS: class.FIPS(),
		},
		Kubernetes: Kubernetes{
			OrchestratorVersion: spec.KubernetesVersion, NodeLabels: spec.Labels, NodeInitializationTaints: spec.Taints,
			NodeTaints: []string{}, MaxPods: class.Spec.MaxPods, KubeletConfig: kubelet,
		},
		Priority: choose(spec.Spot, "Spot", "Regular"),
		Security: Security{
			SSHAccess: "LocalUser", EnableEncryptionAtHost: class.EncryptionAtHost(),
			EnableVTPM: class.VTPM(), EnableSecureBoot: class.SecureBoot(),
		},
		Tags:            spec.Tags,
		LocalDNSProfile: nodeprofile.LocalDNSOf(class),
	}}
	if subnet := class.Spec.VNETSubnetID; subnet != nil {
		body.Properties.Network = &Network{VNetSubnetID: *subnet}
	}
	if spec.GPU {
		body.Properties.Hardware.GPUProfile = &GPUProfile{Driver: choose(class.InstallsGPUDriver(), "Install", "None")}
	}
	if linux != nil {
		body.Properties.OperatingSystem.LinuxProfile = &LinuxProfile{LinuxOSConfig: linux}
	}
	if class.StreamsArtifacts(spec.Architecture) {
		body.Properties.Kubernetes.ArtifactStreamingProfile = &ArtifactStreamingProfile{Enabled: true}
	}
	return body, nil
}

// osSKU is what AKS calls an operating system. It follows from the family of the image, so that both are the same
// generation; Ubuntu 20.04 is the one that has no dedicated name.
func osSKU(of family.Family) string {
	switch of {
	case family.Ubuntu2204, family.Ubuntu2404:
		return string(of)
	}
	return of.OSSKU()
}

// choose returns one of two values.
func choose(condition bool, yes, no string) string {
	if condition {
		return yes
	}
	return no
}
