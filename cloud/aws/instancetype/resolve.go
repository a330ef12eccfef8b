package instancetype

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/aws/devices"
)

// Input is everything that an instance type under a node class depends on.
type Input struct {
	Description Description
	Class       Class
	Settings    Settings
	// Limits are those of the type; zero when unknown.
	Limits NetworkLimits
	// DiscoveredMemory is the memory in bytes that a node of this type with the class's images reported; 0 for none.
	DiscoveredMemory int64
	Market           Availability
	// Sources are further sources of offerings, in order.
	Sources []OfferingSource
}

// Resolve returns the instance type for scheduling. It shares no memory with the input.
func Resolve(in Input) *cloud.InstanceType {
	in.Class.Kubelet = in.Class.Kubelet.Static()
	capacity, offerings := in.capacity(), in.offerings()
	return &cloud.InstanceType{
		Name:             in.Description.Name,
		Requirements:     in.requirements(offerings),
		Offerings:        offerings,
		Capacity:         capacity,
		Overhead:         in.overhead(capacity),
		Exotic:           exotic(in.Description.Name, capacity),
		DynamicResources: devices.Predict(in.hardware(), in.Settings.Devices, in.Class.GPUSharing),
	}
}

// hardware is what the type has of devices that DRA drivers publish.
func (in *Input) hardware() devices.Hardware {
	out := devices.Hardware{InstanceType: in.Description.Name, EFAs: fabricAdapters(&in.Description, &in.Class)}
	for _, a := range in.Description.GPUs {
		if a.Manufacturer == "NVIDIA" {
			out.GPU, out.GPUs, out.GPUMemoryMiB = a.Name, a.Count, a.MemoryMiB
		}
	}
	return out
}

// exotic reports whether a type is bare metal or has accelerators. Launches leave out such types unless there are no others.
//
// Source: AWS specification, launch filters.
func exotic(name string, capacity corev1.ResourceList) bool {
	if _, size, _ := strings.Cut(name, "."); strings.Contains(size, "metal") {
		return true
	}
	return slices.ContainsFunc([]corev1.ResourceName{awsv1.ResourceNVIDIAGPU, awsv1.ResourceAMDGPU, awsv1.ResourceNeuron, awsv1.ResourceGaudi}, func(name corev1.ResourceName) bool {
		q, ok := capacity[name]
		return ok && q.Sign() > 0
	})
}
