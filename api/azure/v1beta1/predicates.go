package v1beta1

import (
	"regexp"
	"slices"
)

// What follows from the settings of a class.
//
// Source: Azure provider specification, derived predicates.

// DefaultOSDiskSizeGB is the size of the disk of the operating system if the class has none, which happens only to objects that were stored
// without defaults.
const DefaultOSDiskSizeGB int32 = 128

// archARM64 is a value of kubernetes.io/arch.
const archARM64 = "arm64"

// OSDiskSizeGB returns the size of the disk of the operating system in GiB.
func (c *AKSNodeClass) OSDiskSizeGB() int32 {
	if c.Spec.OSDiskSizeGB == nil {
		return DefaultOSDiskSizeGB
	}
	return *c.Spec.OSDiskSizeGB
}

// ImageFamily returns the image family.
func (c *AKSNodeClass) ImageFamily() string {
	if c.Spec.ImageFamily == nil {
		return ImageFamilyUbuntu
	}
	return *c.Spec.ImageFamily
}

// FIPS reports whether images comply with FIPS 140.
func (c *AKSNodeClass) FIPS() bool { return c.Spec.FIPSMode != nil && *c.Spec.FIPSMode == FIPSModeFIPS }

// EncryptionAtHost reports whether temporary disks and the caches of disks are encrypted on the host.
func (c *AKSNodeClass) EncryptionAtHost() bool {
	return c.Spec.Security != nil && isTrue(c.Spec.Security.EncryptionAtHost)
}

// VTPM reports whether virtual machines have a virtual TPM.
func (c *AKSNodeClass) VTPM() bool {
	return c.Spec.Security != nil && c.Spec.Security.TrustedLaunch != nil && isTrue(c.Spec.Security.TrustedLaunch.VTPM)
}

// SecureBoot reports whether virtual machines boot only signed code.
func (c *AKSNodeClass) SecureBoot() bool {
	return c.Spec.Security != nil && c.Spec.Security.TrustedLaunch != nil && isTrue(c.Spec.Security.TrustedLaunch.SecureBoot)
}

// TrustedLaunch reports whether virtual machines use Trusted Launch: whether one of its settings is true.
func (c *AKSNodeClass) TrustedLaunch() bool { return c.VTPM() || c.SecureBoot() }

// GPUMode returns whether the driver of GPUs is installed.
func (c *AKSNodeClass) GPUMode() GPUMode {
	if c.Spec.GPU == nil || c.Spec.GPU.Mode == "" {
		return GPUModeDriver
	}
	return c.Spec.GPU.Mode
}

// InstallsGPUDriver reports whether the driver of GPUs is installed when a node boots.
func (c *AKSNodeClass) InstallsGPUDriver() bool { return c.GPUMode() != GPUModeNone }

// StreamsArtifacts reports whether nodes of an architecture, a value of kubernetes.io/arch, stream container images.
func (c *AKSNodeClass) StreamsArtifacts(arch string) bool {
	return arch != archARM64 && c.RequestsArtifactStreaming()
}

// RequestsArtifactStreaming reports whether the class asks for streaming, whatever the architecture of the node.
func (c *AKSNodeClass) RequestsArtifactStreaming() bool {
	return c.Spec.ArtifactStreaming != nil && isTrue(c.Spec.ArtifactStreaming.Enabled)
}

// LocalDNSEnabled reports whether new nodes have a DNS proxy.
func (c *AKSNodeClass) LocalDNSEnabled() bool { return c.Status.LocalDNSState == LocalDNSStateEnabled }

// ResolvedLocalDNS returns the configuration of the DNS proxy with the mode Preferred replaced by what it was resolved to, so that no other
// component decides again for each node. It is nil if the class has none. The caller owns the result.
func (c *AKSNodeClass) ResolvedLocalDNS() *LocalDNS {
	out := c.Spec.LocalDNS.DeepCopy()
	if out == nil || out.Mode != LocalDNSModePreferred {
		return out
	}
	out.Mode = LocalDNSModeDisabled
	if c.LocalDNSEnabled() {
		out.Mode = LocalDNSModeRequired
	}
	return out
}

// isTrue reports whether a setting is present and true.
func isTrue(b *bool) bool { return b != nil && *b }

// sysctlPattern is what the kubelet accepts: the name of a sysctl, with dots or slashes, whose last part may end with an asterisk.
//
// Source: Kubernetes, validation of sysctls.
var sysctlPattern = regexp.MustCompile(`^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*([a-z0-9][-_a-z0-9]*)?[a-z0-9*]$`)

// maxSysctlBytes is the longest sysctl that the kubelet accepts.
const maxSysctlBytes = 253

// InvalidSysctls returns the allowed unsafe sysctls that the kubelet does not accept: it would not start.
func (c *AKSNodeClass) InvalidSysctls() []string {
	if c.Spec.Kubelet == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(c.Spec.Kubelet.AllowedUnsafeSysctls), func(sysctl string) bool {
		return len(sysctl) <= maxSysctlBytes && sysctlPattern.MatchString(sysctl)
	})
}
