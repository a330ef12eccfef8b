// Package sku reads what Azure reports about a SKU of virtual machines: which hardware it has, in which zones of a location it can be used,
// and whether it can be an instance type at all.
//
// Azure reports most properties as capabilities, which are pairs of a name and a text. Any of them may be missing.
//
// Source: Azure provider specification, SKU discovery; ephemeral OS disk.
package sku

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/karpenter-anew/karpenter/cloud/azure/gpu"
	"github.com/karpenter-anew/karpenter/cloud/azure/size"
)

// Report is what Azure reports about a SKU.
type Report struct {
	// Name is that of the SKU, such as Standard_D4s_v3; Size is the name without the tier. Family is the family for quotas, such as
	// standardDSv3Family.
	Name, Size, Family string
	// Capabilities are texts by name.
	Capabilities map[string]string
	// Locations are where Azure has the SKU.
	Locations []Location
	// Restrictions are where the subscription may not use it.
	Restrictions []Restriction
}

// Location is what a location has of a SKU.
type Location struct {
	Name string
	// Zones are the numbers of its zones.
	Zones []string
	// ZoneDetails are capabilities that only some zones have.
	ZoneDetails []ZoneDetail
}

// ZoneDetail is capabilities of some zones.
type ZoneDetail struct {
	Zones        []string
	Capabilities map[string]string
}

// Restriction says where a subscription may not use a SKU.
type Restriction struct {
	// Type is RestrictsLocation or RestrictsZone; others are ignored.
	Type string
	// Locations are the names of locations, Zones the numbers of zones in them.
	Locations, Zones []string
}

// Types of restrictions.
const (
	RestrictsLocation = "Location"
	RestrictsZone     = "Zone"
)

// Description is a SKU that can be an instance type.
type Description struct {
	// Name and Family are those of the report.
	Name, Family string
	// Size is the parsed name.
	Size size.Size
	// VCPUs is the number of vCPUs, at least 2. MemoryGiB is at least 3.5.
	VCPUs     int64
	MemoryGiB float64
	// Architecture is a value of kubernetes.io/arch, or the name that Azure has if Kubernetes has none.
	Architecture string
	// HyperVGenerations are "1", "2", or both.
	HyperVGenerations []string
	// AcceleratedNetworking, PremiumStorage and EncryptionAtHost say what virtual machines can use.
	AcceleratedNetworking, PremiumStorage, EncryptionAtHost bool
	// TrustedLaunch says that virtual machines can use Trusted Launch.
	TrustedLaunch bool
	// Spot says that there are spot virtual machines.
	Spot bool
	// UltraSSD says that virtual machines without a zone can use ultra disks.
	UltraSSD bool
	// Zones are the zones that can be used, in order of their number; none if there is only regional placement.
	Zones []Zone
	// GPUs is the number of GPUs; GPU is what is known about them, and the zero value without any.
	GPUs int64
	GPU  gpu.Size
	// Disk is the local disk that can hold the operating system; the zero value if there is none.
	Disk EphemeralDisk
}

// Zone is a zone that has a SKU.
type Zone struct {
	// Name is the value of topology.kubernetes.io/zone.
	Name string
	// UltraSSD says that virtual machines in the zone can use ultra disks.
	UltraSSD bool
}

// Exclusion is why a SKU cannot be an instance type; empty if it can.
type Exclusion string

// Exclusions.
const (
	// Refused means that AKS does not take the size for nodes.
	Refused Exclusion = "AKS does not support the size"
	// Unparsable means that the name does not follow the grammar.
	Unparsable Exclusion = "the name of the size is unknown"
	// NoArchitecture means that Azure does not report the architecture.
	NoArchitecture Exclusion = "Azure reports no CPU architecture"
	// NotInLocation means that the subscription may not use the SKU in the location.
	NotInLocation Exclusion = "the location is restricted"
	// TooSmall means that there are too few vCPUs or too little memory for a node, or that Azure reports neither.
	TooSmall Exclusion = "the size is too small for a node"
	// UnknownGPU means that there is no driver for the GPU.
	UnknownGPU Exclusion = "AKS does not support the GPU"
	// Constrained means that only some of the vCPUs are enabled.
	Constrained Exclusion = "the size has disabled vCPUs"
	// Confidential means that the virtual machines are for confidential computing.
	Confidential Exclusion = "the size is for confidential computing"
)

// Unexpected reports whether users should know: Azure has something that this version does not understand.
func (e Exclusion) Unexpected() bool { return e == Unparsable || e == NoArchitecture }

// Minimums of a node.
const (
	minVCPUs     = 2
	minMemoryGiB = 3.5
)

// Names of capabilities.
const (
	capabilityArchitecture  = "CpuArchitectureType"
	capabilityVCPUs         = "vCPUs"
	capabilityMemory        = "MemoryGB" // GiB
	capabilityGPUs          = "GPUs"
	capabilityHyperV        = "HyperVGenerations"
	capabilityNetworking    = "AcceleratedNetworkingEnabled"
	capabilityPremium       = "PremiumIO"
	capabilityEncryption    = "EncryptionAtHostSupported"
	capabilityNoTrusted     = "TrustedLaunchDisabled"
	capabilitySpot          = "LowPriorityCapable"
	capabilityUltraSSD      = "UltraSSDAvailable"
	capabilityEphemeral     = "EphemeralOSDiskSupported"
	capabilityNVMe          = "NvmeDiskSizeInMiB"
	capabilityPlacements    = "SupportedEphemeralOSDiskPlacements"
	capabilityCache         = "CachedDiskBytes"
	capabilityTemporaryDisk = "MaxResourceVolumeMB" // MiB
)

// refused reports whether AKS does not take a SKU for nodes, by its name.
func refused(name string) bool {
	switch name {
	case "Standard_A0", "Standard_A1", "Standard_A1_v2", "Standard_B1s", "Standard_B1ms", "Standard_F1", "Standard_F1s",
		"Basic_A0", "Basic_A1", "Basic_A2", "Basic_A3", "Basic_A4", "Standard_E64i_v3", "Standard_E64is_v3":
		return true
	default:
		return false
	}
}

// Describe returns the SKU in a location, or why it cannot be an instance type there.
func Describe(r Report, location string) (Description, Exclusion) {
	if refused(r.Name) {
		return Description{}, Refused
	}
	if r.restrictedIn(location) {
		return Description{}, NotInLocation
	}
	parsed, err := size.Parse(r.Size)
	if err != nil {
		return Description{}, Unparsable
	}
	known, hasKnownGPUs := gpu.Of(r.Name)
	gpus := integer(r.Capabilities[capabilityGPUs])
	out := Description{Name: r.Name, Family: r.Family, Size: parsed, VCPUs: integer(r.Capabilities[capabilityVCPUs]), MemoryGiB: decimal(r.Capabilities[capabilityMemory])}
	switch {
	case r.Capabilities[capabilityArchitecture] == "":
		return Description{}, NoArchitecture
	case out.VCPUs < minVCPUs || out.MemoryGiB < minMemoryGiB:
		return Description{}, TooSmall
	case gpus > 0 && !hasKnownGPUs:
		return Description{}, UnknownGPU
	case parsed.Constrained():
		return Description{}, Constrained
	case strings.HasPrefix(r.Size, "DC") || strings.HasPrefix(r.Size, "EC"):
		return Description{}, Confidential
	}
	out.Architecture = architecture(r.Capabilities[capabilityArchitecture])
	if hasKnownGPUs {
		out.GPU, out.GPUs = known, gpus
	}
	r.describeFeatures(&out)
	out.Zones, out.Disk = r.zones(location), r.disk()
	return out, ""
}

// describeFeatures fills in what virtual machines can use.
func (r Report) describeFeatures(out *Description) {
	for _, generation := range []string{"1", "2"} {
		if lists(r.Capabilities[capabilityHyperV], "V"+generation) {
			out.HyperVGenerations = append(out.HyperVGenerations, generation)
		}
	}
	out.AcceleratedNetworking = isTrue(r.Capabilities[capabilityNetworking])
	out.PremiumStorage = isTrue(r.Capabilities[capabilityPremium])
	out.EncryptionAtHost = isTrue(r.Capabilities[capabilityEncryption])
	out.Spot = isTrue(r.Capabilities[capabilitySpot])
	out.UltraSSD = isTrue(r.Capabilities[capabilityUltraSSD])
	out.TrustedLaunch = slices.Contains(out.HyperVGenerations, "2") && !lists(r.Capabilities[capabilityNoTrusted], "True")
}

// restrictedIn reports whether the subscription may not use the SKU in a location.
func (r Report) restrictedIn(location string) bool {
	return slices.ContainsFunc(r.Restrictions, func(x Restriction) bool { return x.Type == RestrictsLocation && x.covers(location) })
}

// zones are the zones of a location that the subscription may use, in order of their number. A location that Azure does not name has none.
func (r Report) zones(location string) []Zone {
	restricted := map[string]bool{}
	for _, x := range r.Restrictions {
		if !x.covers(location) {
			continue
		}
		for _, number := range x.Zones {
			restricted[number] = true
		}
	}
	withUltraSSD, usable := map[string]bool{}, map[string]bool{}
	for _, l := range r.Locations {
		if !sameLocation(l.Name, location) {
			continue
		}
		for _, number := range l.Zones {
			usable[number] = number != "" && !restricted[number]
		}
		for _, detail := range l.ZoneDetails {
			for _, number := range detail.Zones {
				withUltraSSD[number] = withUltraSSD[number] || isTrue(detail.Capabilities[capabilityUltraSSD])
			}
		}
	}
	var numbers []string
	for number, ok := range usable {
		if ok {
			numbers = append(numbers, number)
		}
	}
	slices.SortFunc(numbers, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	out := make([]Zone, 0, len(numbers))
	for _, number := range numbers {
		out = append(out, Zone{Name: ZoneName(plain(location), number), UltraSSD: withUltraSSD[number]})
	}
	return out
}

// ZoneName returns the value of topology.kubernetes.io/zone for a zone of a location, given its number.
func ZoneName(location, number string) string { return strings.ToLower(location) + "-" + number }

func (x Restriction) covers(location string) bool {
	return slices.ContainsFunc(x.Locations, func(name string) bool { return sameLocation(name, location) })
}

// architecture is the name that Kubernetes has for an architecture, or the name that Azure has.
func architecture(name string) string {
	switch name {
	case "x64":
		return "amd64"
	case "Arm64":
		return "arm64"
	default:
		return name
	}
}

// plain is a text in lower case without blanks, in which form Azure's names are compared.
func plain(text string) string { return strings.ToLower(strings.ReplaceAll(text, " ", "")) }

func sameLocation(a, b string) bool { return plain(a) == plain(b) }

// isTrue reports whether a capability is present.
func isTrue(value string) bool { return strings.EqualFold(value, "true") }

// lists reports whether a capability with several values has one of them.
func lists(value, one string) bool { return strings.Contains(plain(value), plain(one)) }

// integer is a capability as a number; 0 if it is missing, malformed or negative.
func integer(value string) int64 {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return 0
	}
	return max(0, n)
}

// decimal is a capability as a number; 0 if it is missing, malformed or no finite number.
func decimal(value string) float64 {
	n, err := strconv.ParseFloat(value, 64)
	if err != nil || math.IsNaN(n) || n < 0 || n > maxGiB {
		return 0
	}
	return n
}

// maxGiB is more memory than a number of bytes can count.
const maxGiB = 1 << 32
