package instancetype

import (
	"github.com/karpenter-anew/karpenter/api/azure/label"
	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/cloud/azure/gpu"
	"github.com/karpenter-anew/karpenter/cloud/azure/sku"
)

// Class is the part of a node class on which instance types depend. Classes that are equal have the same instance types.
type Class struct {
	ImageFamily string
	// OSDiskSizeGB is the size of the disk of the operating system.
	OSDiskSizeGB int32
	// MaxPods is the most pods of a node, greater than 0.
	MaxPods int32
	// EncryptionAtHost, TrustedLaunch and LocalDNS are features that not all sizes have.
	EncryptionAtHost, TrustedLaunch, LocalDNS bool
	// InstallsGPUDriver says that nodes install the driver of their GPU.
	InstallsGPUDriver bool
	// StreamsArtifacts says that the class asks for streaming of container images.
	StreamsArtifacts bool
	FIPS             bool
}

// Network is the network plugin of the cluster.
type Network struct {
	// Plugin is azure or none, Mode overlay or empty.
	Plugin, Mode string
}

// Values of Network.
const (
	PluginAzure = "azure"
	PluginNone  = "none"
	ModeOverlay = "overlay"
)

// Numbers of pods of a node.
const (
	podsOverlay = 250
	podsSubnet  = 30
	podsDefault = 110
)

// MaxPods is the most pods of a node if the class does not say.
//
// Source: Azure provider specification, max pods.
func (n Network) MaxPods() int32 {
	switch {
	case n.Plugin == PluginNone, n.Plugin == PluginAzure && n.Mode == ModeOverlay:
		return podsOverlay
	case n.Plugin == PluginAzure && n.Mode == "":
		return podsSubnet
	default:
		return podsDefault
	}
}

// ClassOf returns the part of a node class on which instance types depend.
func ClassOf(class *v1beta1.AKSNodeClass, network Network) Class {
	out := Class{
		ImageFamily: class.ImageFamily(), OSDiskSizeGB: class.OSDiskSizeGB(), MaxPods: network.MaxPods(),
		EncryptionAtHost: class.EncryptionAtHost(), TrustedLaunch: class.TrustedLaunch(), LocalDNS: class.LocalDNSEnabled(),
		InstallsGPUDriver: class.InstallsGPUDriver(), StreamsArtifacts: class.RequestsArtifactStreaming(), FIPS: class.FIPS(),
	}
	if class.Spec.MaxPods != nil {
		out.MaxPods = *class.Spec.MaxPods
	}
	return out
}

// osSKU is the value of kubernetes.azure.com/os-sku: the operating system without its release.
func (c Class) osSKU() string {
	if c.ImageFamily == v1beta1.ImageFamilyAzureLinux {
		return label.OSSKUAzureLinux
	}
	return label.OSSKUUbuntu
}

// gpuSystems are the operating systems of the class in the table of GPUs; none for an unknown family. Azure Linux is any release.
func (c Class) gpuSystems() []string {
	switch c.ImageFamily {
	case v1beta1.ImageFamilyUbuntu, v1beta1.ImageFamilyUbuntu2204, v1beta1.ImageFamilyUbuntu2404:
		return []string{gpu.Ubuntu}
	case v1beta1.ImageFamilyAzureLinux:
		return []string{gpu.AzureLinux, gpu.AzureLinux3}
	default:
		return nil
	}
}

// minLocalDNSVCPUs is the fewest vCPUs of nodes with a DNS proxy. The proxy also needs 244 MiB of memory, which every node has.
const minLocalDNSVCPUs = 4

// archARM64 is a value of kubernetes.io/arch.
const archARM64 = "arm64"

// Compatible reports whether nodes of a class can have a SKU.
//
// Source: Azure provider specification, node class parameters and filters.
func Compatible(d *sku.Description, c Class) bool {
	hasGPU := d.GPU.Manufacturer != ""
	switch {
	case hasGPU && !d.GPU.RunsOn(c.gpuSystems()...):
		return false
	case hasGPU && c.InstallsGPUDriver && !d.GPU.InstallsDriver():
		return false
	case c.EncryptionAtHost && !d.EncryptionAtHost:
		return false
	case c.TrustedLaunch && !d.TrustedLaunch:
		return false
	case c.LocalDNS && d.VCPUs < minLocalDNSVCPUs:
		return false
	case c.StreamsArtifacts && d.Architecture == archARM64:
		return false
	default:
		return true
	}
}
