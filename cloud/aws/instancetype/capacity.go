package instancetype

import (
	"fmt"
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/family"
)

const (
	// armMemoryMiB is the memory that ARM instances lack compared to what EC2 reports.
	armMemoryMiB = 64
	// podsOtherwise is the pod limit of a node where network interfaces do not limit pods.
	podsOtherwise = 110
	// hostNetworkPods is the number of pods on every node that need no pod IP address.
	hostNetworkPods = 2
	mebibyte        = 1 << 20
)

// defaultStorage is the size of a disk of unknown size.
func defaultStorage() resource.Quantity { return resource.MustParse("20Gi") }

// capacity is the capacity of an instance. Resources that it lacks are present with zero.
func (in *Input) capacity() corev1.ResourceList {
	d, limits := &in.Description, in.Limits
	memory := estimatedMemory(d, in.Settings)
	if in.DiscoveredMemory > 0 {
		memory = in.DiscoveredMemory
	}
	out := corev1.ResourceList{
		corev1.ResourceCPU:              *count(d.VCPUs),
		corev1.ResourceMemory:           *resource.NewQuantity(memory, resource.BinarySI),
		corev1.ResourceEphemeralStorage: ephemeralStorage(d, &in.Class),
		corev1.ResourcePods:             *count(in.pods()),
		awsv1.ResourcePodENI:            *count(limits.BranchInterfaces),
		awsv1.ResourceNVIDIAGPU:         *count(gpus(d, "NVIDIA")),
		awsv1.ResourceAMDGPU:            *count(gpus(d, "AMD")),
		awsv1.ResourceGaudi:             *count(gpus(d, "Habana")),
		awsv1.ResourceNeuron:            *count(neurons(d)),
		awsv1.ResourceNeuronCore:        *count(neuronCores(d)),
		awsv1.ResourceEFA:               *count(fabricAdapters(d, &in.Class)),
	}
	if in.Class.Family.Windows() {
		out[awsv1.ResourcePrivateIPv4Address] = *count(max(0, limits.IPv4PerInterface-1))
	}
	return out
}

func count(n int64) *resource.Quantity { return resource.NewQuantity(n, resource.DecimalSI) }

// estimatedMemory is the memory in bytes that the operating system is expected to see.
func estimatedMemory(d *Description, s Settings) int64 {
	mib := d.MemoryMiB
	if len(d.Architectures) > 0 && d.Architectures[0] == archARM64 {
		mib -= armMemoryMiB
	}
	kept := int64(math.Ceil(float64(mib*mebibyte) * s.VMMemoryOverheadPercent / 1024 / 1024))
	return (mib - kept) * mebibyte
}

// ephemeralStorage is the size of the disk that holds the files of pods.
func ephemeralStorage(d *Description, c *Class) resource.Quantity {
	if c.RAID0 && d.InstanceStorageGB > 0 {
		return resource.MustParse(fmt.Sprintf("%dG", d.InstanceStorageGB))
	}
	device := c.traits().EphemeralDevice
	for _, mapping := range c.BlockDevices {
		if mapping != nil && mapping.RootVolume && sized(mapping) {
			return *mapping.EBS.VolumeSize
		}
	}
	if len(c.BlockDevices) > 0 && device == "" {
		if last := c.BlockDevices[len(c.BlockDevices)-1]; sized(last) {
			return *last.EBS.VolumeSize
		}
		return defaultStorage()
	}
	for _, mappings := range [][]*awsv1.BlockDeviceMapping{c.BlockDevices, family.BlockDevices(c.Family)} {
		for _, mapping := range mappings {
			if sized(mapping) && mapping.DeviceName != nil && *mapping.DeviceName == device {
				return *mapping.EBS.VolumeSize
			}
		}
	}
	return defaultStorage()
}

// sized reports whether a disk has a size.
func sized(mapping *awsv1.BlockDeviceMapping) bool {
	return mapping != nil && mapping.EBS != nil && mapping.EBS.VolumeSize != nil
}

// pods is the pod limit of a node.
func (in *Input) pods() int64 {
	d, c, traits := &in.Description, &in.Class, in.Class.traits()
	var n int64
	if static, ok := c.Kubelet.StaticMaxPods(); ok {
		n = static
	} else if traits.PodsByInterfaces {
		n = podsByInterfaces(d, c, in.Settings.ReservedENIs)
	} else {
		n = podsOtherwise
	}
	if perCore := c.Kubelet.PodsPerCore; perCore != nil && *perCore > 0 && traits.PodsPerCore {
		n = min(n, int64(*perCore)*d.VCPUs)
	}
	return n
}

// podsByInterfaces is how many pods get an address: every interface uses one address itself. Reserved interfaces, and
// fabric-only interfaces on the first card, provide none.
func podsByInterfaces(d *Description, c *Class, reserved int64) int64 {
	interfaces := max(0, d.Network.defaultInterfaces()-reserved-c.fabricOnly(0))
	if interfaces == 0 {
		return 0
	}
	return interfaces*(d.Network.ipv4PerInterface()-1) + hostNetworkPods
}

// gpus counts the GPUs of a manufacturer.
func gpus(d *Description, manufacturer string) int64 {
	var n int64
	for _, gpu := range d.GPUs {
		if gpu.Manufacturer == manufacturer {
			n += gpu.Count
		}
	}
	return n
}

// neurons counts Neuron devices.
func neurons(d *Description) int64 {
	var n int64
	for _, device := range d.Neurons {
		n += device.Count
	}
	return n
}

// neuronCores counts the cores of the first kind of Neuron device.
func neuronCores(d *Description) int64 {
	if len(d.Neurons) == 0 {
		return 0
	}
	return d.Neurons[0].Count * d.Neurons[0].Cores
}

// fabricAdapters counts the fabric adapters: those that the class configures, or the maximum of the type.
func fabricAdapters(d *Description, c *Class) int64 {
	if len(c.NetworkInterfaces) > 0 {
		return c.fabricOnly(-1)
	}
	return d.Network.maximumEFAs()
}
