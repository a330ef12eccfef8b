// Package devices predicts the devices that DRA drivers publish on instances of EC2: GPUs by the driver of NVIDIA, and EFA interfaces by
// dranet.
//
// What EC2 reports about an instance type, and what NVIDIA documents about its GPUs, is predicted. The other attributes of these drivers, such
// as pcieRoot, brand, and the PCI attributes of EFA interfaces, are known only on nodes: a claim that selects devices by one of them gets no new
// node, instead of nodes that do not have what it asks for.
package devices

import (
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/karpenter-anew/karpenter/cloud"
)

// Drivers of devices.
const (
	NVIDIA = "gpu.nvidia.com"
	EFA    = "dra.net"
)

// Settings say which drivers run on nodes. The zero value predicts no devices.
type Settings struct{ NVIDIA, EFA bool }

// Hardware is what an instance type has of such devices.
type Hardware struct {
	// InstanceType is the name of the type.
	InstanceType string
	// GPU is the name of its NVIDIA GPUs as EC2 has it, such as A10G; GPUs is their number, and GPUMemoryMiB the memory of one.
	GPU                string
	GPUs, GPUMemoryMiB int64
	// EFAs is the number of EFA interfaces.
	EFAs int64
}

// Predict returns the devices that drivers will publish on a node; nil for none. Pools are named after the type, because the allocation of a
// NodeClaim knows devices by driver, pool and name.
//
// Source: specification of version 1.15, DRA device templates.
func Predict(h Hardware, s Settings, sharing Sharing) *cloud.DynamicResources {
	var out cloud.DynamicResources
	if s.NVIDIA && h.GPUs > 0 {
		pool := "gpus-" + h.InstanceType
		out.ResourceSlices = append(out.ResourceSlices, slice(NVIDIA, pool, "gpu", h.GPUs, gpu(h, sharing)))
		if h.GPUs > 1 {
			for _, attribute := range []string{"driverVersion", "cudaDriverVersion"} {
				out.AttributeBindings = append(out.AttributeBindings, alike(NVIDIA, pool, "gpu", h.GPUs, attribute))
			}
		}
	}
	if s.EFA && h.EFAs > 0 {
		out.ResourceSlices = append(out.ResourceSlices, slice(EFA, "network-"+h.InstanceType, "efa", h.EFAs, efa()))
	}
	if len(out.ResourceSlices) == 0 {
		return nil
	}
	return &out
}

// slice is a pool of devices that differ only in their names.
func slice(driver, pool, name string, count int64, device resourcev1.Device) resourcev1.ResourceSlice {
	spec := resourcev1.ResourceSliceSpec{Driver: driver, Pool: resourcev1.ResourcePool{Name: pool, ResourceSliceCount: 1}}
	for i := range count {
		d := device.DeepCopy()
		d.Name = deviceName(name, i)
		spec.Devices = append(spec.Devices, *d)
	}
	return resourcev1.ResourceSlice{Spec: spec}
}

// alike says that all devices of a pool have the same value of an attribute, which is known only on the node.
func alike(driver, pool, name string, count int64, attribute string) cloud.AttributeBinding {
	out := cloud.AttributeBinding{Attribute: resourcev1.FullyQualifiedName(driver + "/" + attribute)}
	for i := range count {
		out.Devices = append(out.Devices, cloud.DeviceID{Driver: driver, Pool: pool, Device: deviceName(name, i)})
	}
	return out
}

func deviceName(name string, i int64) string { return fmt.Sprintf("%s-%d", name, i) }

// model is what NVIDIA documents about a GPU.
type model struct{ architecture, computeCapability string }

// models are the GPUs of EC2, by the name that EC2 has for them.
//
// Source: NVIDIA, CUDA GPU compute capability.
func models() map[string]model {
	return map[string]model{
		"V100": {"Volta", "7.0.0"}, "T4": {"Turing", "7.5.0"}, "T4g": {"Turing", "7.5.0"}, "A100": {"Ampere", "8.0.0"}, "A10G": {"Ampere", "8.6.0"},
		"L4": {"Ada Lovelace", "8.9.0"}, "L40S": {"Ada Lovelace", "8.9.0"}, "H100": {"Hopper", "9.0.0"}, "H200": {"Hopper", "9.0.0"},
		"B200": {"Blackwell", "10.0.0"}, "B300": {"Blackwell", "10.3.0"},
	}
}

// usableMemory is the share of the memory that is predicted: drivers report up to this much less than EC2, as error correction and firmware
// take a part. A claim for more than that, and less than the driver reports, gets no new node.
const usableMemory = 0.92

// gpu is a GPU of the type, without its name.
func gpu(h Hardware, sharing Sharing) resourcev1.Device {
	out := resourcev1.Device{Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"type": text("gpu")}}
	if m, ok := models()[h.GPU]; ok {
		out.Attributes["architecture"] = text(m.architecture)
		out.Attributes["cudaComputeCapability"] = resourcev1.DeviceAttribute{VersionValue: &m.computeCapability}
	}
	if usable := int64(float64(h.GPUMemoryMiB) * usableMemory); usable > 0 {
		memory := resource.NewQuantity(usable<<20, resource.BinarySI)
		out.Capacity = map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: *memory}}
		sharing.apply(&out)
	}
	return out
}

// efa is an EFA interface, without its name.
func efa() resourcev1.Device {
	yes := true
	return resourcev1.Device{Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"rdma": {BoolValue: &yes}}}
}

func text(value string) resourcev1.DeviceAttribute {
	return resourcev1.DeviceAttribute{StringValue: &value}
}
