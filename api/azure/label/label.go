// Package label holds the names of labels, annotations, finalizers and tags of AKS nodes, and the rules for labels.
//
// Source: Azure provider specification, labels, annotations, tags, finalizers.
package label

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// Domains whose labels users may name only from a list; see the rules of api/azure/crds.
const (
	// Domain is the domain of Karpenter's labels of AKS nodes. It is restricted.
	Domain = v1beta1.Group
	// AKSDomain is the domain of the labels of AKS.
	AKSDomain = "kubernetes.azure.com"
)

// Labels of AKS nodes in Karpenter's domain.
const (
	NodeClass             = Domain + "/aksnodeclass"
	PlacementScope        = Domain + "/placement-scope"
	SKUName               = Domain + "/sku-name"
	SKUFamily             = Domain + "/sku-family"
	SKUSeries             = Domain + "/sku-series"
	SKUVersion            = Domain + "/sku-version"
	SKUCPU                = Domain + "/sku-cpu"
	SKUMemory             = Domain + "/sku-memory"
	SKUAcceleratedNetwork = Domain + "/sku-networking-accelerated"
	SKUPremiumStorage     = Domain + "/sku-storage-premium-capable"
	SKUUltraSSD           = Domain + "/sku-storage-ultra-ssd"
	SKUEphemeralOSDiskMax = Domain + "/sku-storage-ephemeralos-maxsize"
	SKUGPUName            = Domain + "/sku-gpu-name"
	SKUGPUManufacturer    = Domain + "/sku-gpu-manufacturer"
	SKUGPUCount           = Domain + "/sku-gpu-count"
	// SKUHyperVGeneration is for matching images; users may not name it.
	SKUHyperVGeneration = Domain + "/sku-hyperv-generation"
)

// Labels of AKS nodes in the domain of AKS that scheduling knows.
const (
	AKSCluster          = AKSDomain + "/cluster"
	AKSMode             = AKSDomain + "/mode"
	AKSScaleSetPriority = AKSDomain + "/scalesetpriority"
	AKSPriority         = AKSDomain + "/priority"
	AKSOSSKU            = AKSDomain + "/os-sku"
	AKSFIPSEnabled      = AKSDomain + "/fips_enabled"
	AKSSKUCPU           = AKSDomain + "/sku-cpu"
	AKSSKUMemory        = AKSDomain + "/sku-memory"
)

// Labels of AKS nodes in the domain of AKS that nodes register with and that scheduling does not know. NodePools may set the first three.
const (
	AKSEBPFDataplane           = AKSDomain + "/ebpf-dataplane"
	AKSEBPFHostRouting         = AKSDomain + "/ebpf-host-routing"
	AKSNetworkPolicy           = AKSDomain + "/network-policy"
	AKSHostedVM                = AKSDomain + "/hostedvm"
	AKSRole                    = AKSDomain + "/role"
	AKSKubeletIdentityClientID = AKSDomain + "/kubelet-identity-client-id"
	AKSOSSKURequested          = AKSDomain + "/os-sku-requested"
	AKSOSSKUEffective          = AKSDomain + "/os-sku-effective"
	AKSNetworkSubnet           = AKSDomain + "/network-subnet"
	AKSNodeNetworkVNetGUID     = AKSDomain + "/nodenetwork-vnetguid"
	AKSAzureCNIOverlay         = AKSDomain + "/azure-cni-overlay"
	AKSPodNetworkType          = AKSDomain + "/podnetwork-type"
	AKSNetworkStatelessCNI     = AKSDomain + "/network-stateless-cni"
	AKSLocalDNSState           = AKSDomain + "/localdns-state"
	AKSArtifactStreaming       = AKSDomain + "/artifactstreaming-enabled"
)

// DiskCSIZone is the name that the Azure Disk CSI driver has for the zone. Its value for regional disks is empty.
const DiskCSIZone = "topology.disk.csi.azure.com/zone"

// Values of labels.
const (
	// ZoneRegional is the value of topology.kubernetes.io/zone of nodes without a zone, as AKS sets it.
	ZoneRegional = "0"
	// PlacementScopeZonal and PlacementScopeRegional are values of PlacementScope.
	PlacementScopeZonal    = "zonal"
	PlacementScopeRegional = "regional"
	// ModeSystem and ModeUser are values of AKSMode.
	ModeSystem = "system"
	ModeUser   = "user"
	// PriorityRegular and PrioritySpot are values of AKSPriority and AKSScaleSetPriority.
	PriorityRegular = "regular"
	PrioritySpot    = "spot"
	// OSSKUUbuntu and OSSKUAzureLinux are values of AKSOSSKU.
	OSSKUUbuntu     = "Ubuntu"
	OSSKUAzureLinux = "AzureLinux"
	// ManufacturerNVIDIA and ManufacturerAMD are values of SKUGPUManufacturer.
	ManufacturerNVIDIA = "nvidia"
	ManufacturerAMD    = "amd"
	// True and False are the values of labels that say yes or no.
	True  = "true"
	False = "false"
)

// SKULabels are the labels of Karpenter's domain that users may name. The caller owns the result.
func SKULabels() []string {
	return []string{
		NodeClass, SKUName, SKUFamily, SKUSeries, SKUVersion, SKUCPU, SKUMemory, SKUAcceleratedNetwork, SKUPremiumStorage, SKUUltraSSD,
		SKUEphemeralOSDiskMax, SKUGPUName, SKUGPUManufacturer, SKUGPUCount, PlacementScope,
	}
}

// AKSLabels are the labels of the domain of AKS that users may name. The caller owns the result.
func AKSLabels() []string {
	return []string{
		AKSMode, AKSScaleSetPriority, AKSPriority, AKSFIPSEnabled, AKSOSSKU, AKSCluster, AKSSKUCPU, AKSSKUMemory,
		AKSEBPFDataplane, AKSEBPFHostRouting, AKSNetworkPolicy, AKSHostedVM,
	}
}

// LegacyLabels are labels without a domain that AKS sets and that users may not name. The caller owns the result.
func LegacyLabels() []string {
	return []string{"agentpool", "storageprofile", "storagetier", "accelerator"}
}

// Rules are the core's rules with the labels of AKS nodes. The label that names the class is set by Karpenter: claims carry it, but
// users may not require it.
func Rules() v1.LabelRules {
	wellKnown := slices.DeleteFunc(SKULabels(), func(key string) bool { return key == NodeClass })
	wellKnown = append(wellKnown, AKSCluster, AKSMode, AKSScaleSetPriority, AKSPriority, AKSOSSKU, AKSFIPSEnabled, AKSSKUCPU, AKSSKUMemory)
	rules := v1.CoreLabelRules().With(wellKnown, []string{Domain})
	rules.Internal = map[string]bool{SKUHyperVGeneration: true}
	rules.Aliases = maps.Clone(rules.Aliases)
	rules.Aliases[DiskCSIZone] = corev1.LabelTopologyZone
	rules.ValueAliases = maps.Clone(rules.ValueAliases)
	rules.ValueAliases[corev1.LabelTopologyZone] = map[string]string{"": ZoneRegional}
	rules.KnownValues = maps.Clone(rules.KnownValues)
	maps.Copy(rules.KnownValues, map[string][]string{
		v1.CapacityTypeLabelKey: {v1.CapacityTypeOnDemand, v1.CapacityTypeSpot},
		PlacementScope:          {PlacementScopeZonal, PlacementScopeRegional},
		SKUAcceleratedNetwork:   {True, False},
		SKUPremiumStorage:       {True, False},
		SKUUltraSSD:             {True, False},
		SKUGPUManufacturer:      {ManufacturerNVIDIA, ManufacturerAMD},
		AKSMode:                 {ModeSystem, ModeUser},
		AKSScaleSetPriority:     {PriorityRegular, PrioritySpot},
		AKSPriority:             {PriorityRegular, PrioritySpot},
		AKSOSSKU:                {OSSKUUbuntu, OSSKUAzureLinux},
		AKSFIPSEnabled:          {True},
	})
	return rules
}
