package inventory

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/karpenter-anew/karpenter/cloud/aws/instancetype"
)

// descriptionOf converts EC2's description of a type. Any field may be missing.
func descriptionOf(t *ec2types.InstanceTypeInfo) instancetype.Description {
	d := instancetype.Description{
		Name: string(t.InstanceType), Hypervisor: string(t.Hypervisor), BareMetal: aws.ToBool(t.BareMetal),
		UsageClasses:  texts(t.SupportedUsageClasses),
		NitroEnclaves: t.NitroEnclavesSupport == ec2types.NitroEnclavesSupportSupported,
	}
	if v := t.VCpuInfo; v != nil {
		d.VCPUs = int64(aws.ToInt32(v.DefaultVCpus))
	}
	if m := t.MemoryInfo; m != nil {
		d.MemoryMiB = aws.ToInt64(m.SizeInMiB)
	}
	if p := t.ProcessorInfo; p != nil {
		d.Architectures, d.CPUManufacturer = texts(p.SupportedArchitectures), aws.ToString(p.Manufacturer)
		d.ClockGHz, d.CPUFeatures = aws.ToFloat64(p.SustainedClockSpeedInGhz), texts(p.SupportedFeatures)
	}
	if e := t.EbsInfo; e != nil {
		d.EBSOptimized = string(e.EbsOptimizedSupport)
		if e.EbsOptimizedInfo != nil {
			d.EBSMaxMbps = int64(aws.ToInt32(e.EbsOptimizedInfo.MaximumBandwidthInMbps))
		}
	}
	if s := t.InstanceStorageInfo; s != nil {
		d.NVMe, d.InstanceStorageGB = string(s.NvmeSupport), aws.ToInt64(s.TotalSizeInGB)
	}
	if p := t.PlacementGroupInfo; p != nil {
		d.PlacementStrategies = texts(p.SupportedStrategies)
	}
	d.Network = networkOf(t.NetworkInfo)
	addAccelerators(&d, t)
	return d
}

func networkOf(n *ec2types.NetworkInfo) *instancetype.Network {
	if n == nil {
		return nil
	}
	out := &instancetype.Network{
		DefaultCard: int64(aws.ToInt32(n.DefaultNetworkCardIndex)), IPv4PerInterface: int64(aws.ToInt32(n.Ipv4AddressesPerInterface)),
		ENASupported: n.EnaSupport == ec2types.EnaSupportSupported || n.EnaSupport == ec2types.EnaSupportRequired,
		EFASupported: aws.ToBool(n.EfaSupported), EncryptionInTransit: aws.ToBool(n.EncryptionInTransitSupported),
	}
	if n.EfaInfo != nil {
		out.MaximumEFAs = int64(aws.ToInt32(n.EfaInfo.MaximumEfaInterfaces))
	}
	for _, card := range n.NetworkCards {
		out.Cards = append(out.Cards, instancetype.Card{Index: int64(aws.ToInt32(card.NetworkCardIndex)), MaximumInterfaces: int64(aws.ToInt32(card.MaximumNetworkInterfaces))})
	}
	return out
}

func addAccelerators(d *instancetype.Description, t *ec2types.InstanceTypeInfo) {
	if t.GpuInfo != nil {
		for _, gpu := range t.GpuInfo.Gpus {
			a := instancetype.Accelerator{Name: aws.ToString(gpu.Name), Manufacturer: aws.ToString(gpu.Manufacturer), Count: int64(aws.ToInt32(gpu.Count))}
			if gpu.MemoryInfo != nil {
				a.MemoryMiB = int64(aws.ToInt32(gpu.MemoryInfo.SizeInMiB))
			}
			d.GPUs = append(d.GPUs, a)
		}
	}
	if t.NeuronInfo != nil {
		for _, device := range t.NeuronInfo.NeuronDevices {
			n := instancetype.Neuron{Name: aws.ToString(device.Name), Count: int64(aws.ToInt32(device.Count))}
			if device.CoreInfo != nil {
				n.Cores = int64(aws.ToInt32(device.CoreInfo.Count))
			}
			d.Neurons = append(d.Neurons, n)
		}
	}
	if t.InferenceAcceleratorInfo != nil {
		for _, a := range t.InferenceAcceleratorInfo.Accelerators {
			d.InferenceAccelerators = append(d.InferenceAccelerators, instancetype.Accelerator{
				Name: aws.ToString(a.Name), Manufacturer: aws.ToString(a.Manufacturer), Count: int64(aws.ToInt32(a.Count)),
			})
		}
	}
}

// texts are enumerated values as strings.
func texts[E ~string](values []E) []string {
	var out []string
	for _, v := range values {
		out = append(out, string(v))
	}
	return out
}
