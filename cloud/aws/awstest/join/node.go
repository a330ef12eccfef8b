package join

import (
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest/firstboot"
	"github.com/karpenter-anew/karpenter/cloud/cloudtest/kubelet"
	"github.com/karpenter-anew/karpenter/cloud/cloudtest/nodejoin"
)

// usable is the fraction of an instance's memory that its operating system sees: firmware and hypervisor use the rest.
const usable = 0.955

// usualPods is the pod limit of images whose pods get no addresses of the VPC.
const usualPods = 110

// nodeOf is the Node that an instance registers, including the fields that the cluster's cloud controller adds.
func nodeOf(m *awstest.Host, s firstboot.Settings) *corev1.Node {
	labels := maps.Clone(s.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	system := "linux"
	if firstboot.KindOf(m.ImageName) == firstboot.Windows {
		system = "windows"
	}
	maps.Copy(labels, map[string]string{
		corev1.LabelHostname: m.DNS, corev1.LabelArchStable: m.Architecture, corev1.LabelOSStable: system,
		corev1.LabelInstanceTypeStable: m.Type, corev1.LabelTopologyZone: m.Zone, corev1.LabelTopologyRegion: m.Region,
		nodejoin.LabelSimulated: nodejoin.Simulated,
	})
	if m.ZoneID != "" {
		labels["topology.k8s.aws/zone-id"] = m.ZoneID
	}
	if system == "windows" {
		labels[corev1.LabelWindowsBuild] = windowsBuild(m.ImageName)
	}
	capacity := capacityOf(m, s)
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: m.DNS, Labels: labels, Annotations: map[string]string{nodejoin.LabelSimulated: nodejoin.Simulated}},
		Spec:       corev1.NodeSpec{ProviderID: fmt.Sprintf("aws:///%s/%s", m.Zone, m.ID), Taints: s.Taints},
		Status: corev1.NodeStatus{
			Capacity: capacity, Allocatable: allocatable(m, s, capacity), Addresses: addresses(m, s),
			NodeInfo: corev1.NodeSystemInfo{Architecture: m.Architecture, OperatingSystem: system, OSImage: m.ImageName},
		},
	}
}

// addresses are the addresses of a Node. The internal one has the IP family of the pods.
func addresses(m *awstest.Host, s firstboot.Settings) []corev1.NodeAddress {
	own := m.Address
	if s.IPv6 {
		own = m.IPv6
	}
	out := []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: own}, {Type: corev1.NodeHostName, Address: m.DNS}, {Type: corev1.NodeInternalDNS, Address: m.DNS}}
	if m.Public {
		out = append(out, corev1.NodeAddress{Type: corev1.NodeExternalIP, Address: strings.Replace(m.Address, "10.0.", "203.0.", 1)})
	}
	return out
}

// windowsBuild is the build number of a Windows release.
func windowsBuild(image string) string {
	for year, build := range map[string]string{"2019": "10.0.17763", "2022": "10.0.20348", "2025": "10.0.26100"} {
		if strings.Contains(image, "Windows_Server-"+year) {
			return build
		}
	}
	return ""
}

// pods is the pod limit of a kubelet.
func pods(m *awstest.Host, s firstboot.Settings) int64 {
	out := s.MaxPods
	if out == 0 {
		if out = m.AddressedPods; firstboot.KindOf(m.ImageName) == firstboot.Windows {
			out = usualPods
		}
	}
	if s.PodsPerCore > 0 {
		out = min(out, s.PodsPerCore*m.VCPUs)
	}
	return out
}

func capacityOf(m *awstest.Host, s firstboot.Settings) corev1.ResourceList {
	disk := *resource.NewQuantity(m.DiskGiB<<30, resource.BinarySI)
	if s.RAID0 && m.StorageGB > 0 {
		disk = *resource.NewQuantity(m.StorageGB*1_000_000_000, resource.DecimalSI)
	}
	out := corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewQuantity(m.VCPUs, resource.DecimalSI),
		corev1.ResourceMemory:           *resource.NewQuantity(int64(float64(m.MemoryMiB)*usable)<<20, resource.BinarySI),
		corev1.ResourcePods:             *resource.NewQuantity(pods(m, s), resource.DecimalSI),
		corev1.ResourceEphemeralStorage: disk,
	}
	maps.Copy(out, m.Devices)
	return out
}

// allocatable is the capacity minus reserved resources, as the kubelet computes it.
func allocatable(m *awstest.Host, s firstboot.Settings, capacity corev1.ResourceList) corev1.ResourceList {
	reserved, eviction := s.KubeReserved, s.EvictionHard
	if reserved == nil {
		reserved = imageReserves(m, s)
	}
	if eviction == nil {
		eviction = map[string]string{"memory.available": "100Mi", "nodefs.available": "10%"}
	}
	return kubelet.Allocatable(capacity, eviction, reserved, s.SystemReserved)
}

// imageReserves are the resources that images reserve for the kubelet and the runtime by default.
func imageReserves(m *awstest.Host, s firstboot.Settings) map[string]string {
	count := m.AddressedPods
	if kind := firstboot.KindOf(m.ImageName); kind == firstboot.Bottlerocket || kind == firstboot.Windows {
		count = pods(m, s)
	}
	millis := m.VCPUs * 1000
	cpu := min(millis, 1000)*6/100 + max(0, min(millis-1000, 1000))/100 + max(0, min(millis-2000, 2000))*5/1000 + max(0, millis-4000)*25/10000
	return map[string]string{"cpu": fmt.Sprintf("%dm", cpu), "memory": fmt.Sprintf("%dMi", 11*count+255), "ephemeral-storage": "1Gi"}
}
