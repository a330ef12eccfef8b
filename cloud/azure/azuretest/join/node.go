package join

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/cloud/azure/azuretest"
	"github.com/karpenter-anew/karpenter/cloud/azure/azuretest/firstboot"
	"github.com/karpenter-anew/karpenter/cloud/cloudtest/kubelet"
	"github.com/karpenter-anew/karpenter/cloud/cloudtest/nodejoin"
)

// usable is the fraction of a virtual machine's memory that its operating system sees: firmware and hypervisor use the rest.
const usable = 0.955

// nodeOf is the Node that a virtual machine registers, including the fields that the cluster's cloud controller adds.
func nodeOf(h *azuretest.Host, s *firstboot.Settings) *corev1.Node {
	name := strings.ToLower(h.Computer)
	labels := maps.Clone(s.Labels)
	maps.Copy(labels, map[string]string{
		corev1.LabelHostname: name, corev1.LabelArchStable: architecture(h), corev1.LabelOSStable: "linux",
		corev1.LabelInstanceTypeStable: h.Size.Name, corev1.LabelTopologyZone: zoneOf(h), corev1.LabelTopologyRegion: h.Location,
		nodejoin.LabelSimulated: nodejoin.Simulated,
	})
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewQuantity(int64(h.Size.VCPUs), resource.DecimalSI),
		corev1.ResourceMemory:           *resource.NewQuantity(int64(float64(h.Size.MemoryGiB<<10)*usable)<<20, resource.BinarySI),
		corev1.ResourcePods:             *resource.NewQuantity(s.MaxPods, resource.DecimalSI),
		corev1.ResourceEphemeralStorage: *resource.NewQuantity(h.DiskGB*1_000_000_000, resource.DecimalSI),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, Annotations: map[string]string{nodejoin.LabelSimulated: nodejoin.Simulated}},
		Spec:       corev1.NodeSpec{ProviderID: providerID(h.ID), Taints: s.Taints},
		Status: corev1.NodeStatus{
			Capacity: capacity, Allocatable: kubelet.Allocatable(capacity, s.EvictionHard, s.KubeReserved, s.SystemReserved),
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: h.Address}, {Type: corev1.NodeHostName, Address: name}},
			NodeInfo: corev1.NodeSystemInfo{
				Architecture: architecture(h), OperatingSystem: "linux", OSImage: h.Image, KubeletVersion: "v" + strings.TrimPrefix(s.Version, "v"), SystemUUID: h.VMID,
			},
		},
	}
}

// providerID is what the cloud controller of AKS writes: the ID of the virtual machine with its resource group in lower case.
func providerID(id string) string {
	before, rest, _ := strings.Cut(id, "/resourceGroups/")
	group, rest, _ := strings.Cut(rest, "/")
	return "azure://" + before + "/resourceGroups/" + strings.ToLower(group) + "/" + rest
}

// zoneOf is the value of the zone label: AKS labels nodes that are in no zone with 0.
func zoneOf(h *azuretest.Host) string {
	if h.Zone == "" {
		return "0"
	}
	return strings.ToLower(h.Location) + "-" + h.Zone
}

func architecture(h *azuretest.Host) string {
	if h.Size.Architecture == "Arm64" {
		return "arm64"
	}
	return "amd64"
}
