package offline

import (
	"strconv"
	"strings"

	"github.com/karpenter-anew/karpenter/cloud/azure/size"
	"github.com/karpenter-anew/karpenter/cloud/azure/sku"
)

// tier starts the names of SKUs.
const tier = "Standard_"

// describe returns what Azure is assumed to report about a size in a location with some zones, and whether the features are derived from its
// name because the table has none. A report of a real subscription never comes from here: see TestOnlySimulationsUseThis.
func (h *hardware) describe(location string, zones []string) (report sku.Report, derived bool) {
	parsed, err := size.Parse(h.name)
	if err != nil {
		return sku.Report{Name: tier + h.name, Size: h.name}, false // Describe refuses it
	}
	full := *h
	if !h.described {
		full.derive(&parsed)
	}
	flag := strconv.FormatBool
	report = sku.Report{
		Name: tier + h.name, Size: h.name, Locations: []sku.Location{{Name: location, Zones: zones}},
		Capabilities: map[string]string{
			"vCPUs": strconv.FormatInt(h.vCPUs, 10), "MemoryGB": strconv.FormatFloat(h.memoryGiB, 'f', -1, 64), "GPUs": strconv.FormatInt(h.gpus, 10),
			"CpuArchitectureType": full.architecture, "HyperVGenerations": full.hyperV,
			"AcceleratedNetworkingEnabled": flag(full.has(featureNetworking)), "PremiumIO": flag(full.has(featurePremium)),
			"EncryptionAtHostSupported": flag(full.has(featureEncryption)), "LowPriorityCapable": flag(full.has(featureSpot)),
			"UltraSSDAvailable": flag(full.has(featureUltraSSD)), "TrustedLaunchDisabled": flag(full.has(featureNoTrustedLaunch) || full.architecture == arm64),
		},
	}
	if full.has(featureUltraSSD) {
		report.Locations[0].ZoneDetails = []sku.ZoneDetail{{Zones: zones, Capabilities: map[string]string{"UltraSSDAvailable": "True"}}}
	}
	full.describeDisk(&parsed, report.Capabilities)
	return report, !h.described
}

const (
	arm64 = "Arm64"
	// Versions of sizes from which on all have a feature.
	versionNetworking = 4
	versionEncryption = 5
	versionNVMe       = 6
	// burstable is the family without spot virtual machines.
	burstable = "B"
)

// derive fills in what the table does not have, as far as the name says it. Ultra disks cannot be derived: the size is taken to have none.
//
// Source: the page "Azure virtual machine sizes naming conventions" of Azure, and its pages about accelerated networking and encryption at host.
func (h *hardware) derive(name *size.Size) {
	version, _ := strconv.Atoi(name.Generation()) // a digit
	h.architecture, h.hyperV = "x64", "V1,V2"
	if strings.Contains(name.Features, "p") {
		h.architecture, h.hyperV = arm64, "V2"
	}
	if version >= versionNVMe {
		h.hyperV = "V2"
	}
	for _, f := range []struct {
		name string
		has  bool
	}{
		{featureNetworking, version >= versionNetworking},
		{featurePremium, strings.Contains(name.Features, "s") || strings.HasSuffix(name.Subfamily, "S")},
		{featureEncryption, version >= versionEncryption},
		{featureSpot, name.Family != burstable},
	} {
		if f.has {
			h.features = append(h.features, f.name)
		}
	}
}

// describeDisk adds the local disk that can hold the operating system. The table does not say whether it can: it is taken to be able to if
// there is a temporary disk, and the size has premium storage or says in its name that it has the disk.
func (h *hardware) describeDisk(name *size.Size, capabilities map[string]string) {
	if h.temporaryGiB == 0 || !h.has(featurePremium) && !strings.Contains(name.Features, "d") {
		return
	}
	mebibytes := strconv.FormatInt(h.temporaryGiB<<10, 10)
	capabilities["EphemeralOSDiskSupported"] = "True"
	if version, _ := strconv.Atoi(name.Generation()); version >= versionNVMe {
		capabilities["NvmeDiskSizeInMiB"], capabilities["SupportedEphemeralOSDiskPlacements"] = mebibytes, sku.PlacementNVMe
		return
	}
	capabilities["MaxResourceVolumeMB"] = mebibytes
	if h.cacheGiB > 0 {
		capabilities["CachedDiskBytes"] = strconv.FormatInt(h.cacheGiB<<30, 10)
	}
}
