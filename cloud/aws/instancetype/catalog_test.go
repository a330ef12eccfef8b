package instancetype_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/aws/instancetype"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// network is a network of one card with this many interfaces and addresses.
func network(interfaces, addresses int64) *instancetype.Network {
	return &instancetype.Network{ENASupported: true, IPv4PerInterface: addresses, Cards: []instancetype.Card{{MaximumInterfaces: interfaces}}}
}

// withFabric is a network with fabric adapters.
func withFabric(n *instancetype.Network, adapters int64) *instancetype.Network {
	n.EFASupported, n.MaximumEFAs, n.EncryptionInTransit = true, adapters, true
	return n
}

// describe returns EC2's descriptions of some instance types.
func describe(t testing.TB, name string) instancetype.Description {
	t.Helper()
	x86, arm := []string{"x86_64"}, []string{"arm64"}
	catalog := []instancetype.Description{
		{
			Name: "a1.medium", VCPUs: 1, MemoryMiB: 2048, Architectures: arm, CPUManufacturer: "AWS", ClockGHz: 2.3, Network: network(2, 4),
			EBSOptimized: "default", EBSMaxMbps: 3500, NVMe: "unsupported",
		},
		{Name: "a1.large", VCPUs: 2, MemoryMiB: 4096, Architectures: arm, CPUManufacturer: "AWS", ClockGHz: 2.3, Network: network(3, 10)},
		{Name: "a1.xlarge", VCPUs: 4, MemoryMiB: 8192, Architectures: arm, Network: network(4, 15)},
		{Name: "c6g.large", VCPUs: 2, MemoryMiB: 4096, Architectures: arm, Network: network(3, 10)},
		{Name: "m5.large", VCPUs: 2, MemoryMiB: 8192, Architectures: x86, CPUManufacturer: "Intel", ClockGHz: 3.1, Network: network(3, 10), EBSOptimized: "default", EBSMaxMbps: 4750},
		{Name: "m5.xlarge", VCPUs: 4, MemoryMiB: 16384, Architectures: x86, Network: network(4, 15)},
		{Name: "c7i-flex.large", VCPUs: 2, MemoryMiB: 4096, Architectures: x86, Network: network(3, 10)},
		{Name: "t3.large", VCPUs: 2, MemoryMiB: 8192, Architectures: []string{"x86_64"}, Network: network(3, 12)},
		{
			Name: "g4dn.8xlarge", VCPUs: 32, MemoryMiB: 131072, Architectures: x86, CPUManufacturer: "Intel", ClockGHz: 2.5, Network: withFabric(network(4, 15), 1),
			EBSOptimized: "default", EBSMaxMbps: 9500, NVMe: "required", InstanceStorageGB: 900, NitroEnclaves: true,
			GPUs: []instancetype.Accelerator{{Name: "T4", Manufacturer: "NVIDIA", Count: 1, MemoryMiB: 16384}},
		},
		{
			Name: "p5.48xlarge", VCPUs: 192, MemoryMiB: 2097152, Architectures: x86, Network: withFabric(network(2, 50), 32),
			GPUs: []instancetype.Accelerator{{Name: "H100", Manufacturer: "NVIDIA", Count: 8, MemoryMiB: 81920}},
		},
		{
			Name: "inf2.xlarge", VCPUs: 4, MemoryMiB: 16384, Architectures: x86, Network: network(4, 15),
			Neurons: []instancetype.Neuron{{Name: "Inferentia2", Count: 1, Cores: 2}},
		},
		{
			Name: "inf1.2xlarge", VCPUs: 8, MemoryMiB: 16384, Architectures: x86, Network: network(4, 10),
			InferenceAccelerators: []instancetype.Accelerator{{Name: "Inferentia", Manufacturer: "AWS", Count: 1}},
		},
		{
			Name: "trn1.2xlarge", VCPUs: 8, MemoryMiB: 32768, Architectures: x86, Network: network(4, 15),
			Neurons: []instancetype.Neuron{{Name: "Trainium", Count: 1, Cores: 2}},
		},
		{
			Name: "dl1.24xlarge", VCPUs: 96, MemoryMiB: 786432, Architectures: x86, Network: withFabric(network(15, 50), 4),
			GPUs: []instancetype.Accelerator{{Name: "Gaudi HL-205", Manufacturer: "Habana", Count: 8, MemoryMiB: 32768}},
		},
		{
			Name: "g4ad.4xlarge", VCPUs: 16, MemoryMiB: 65536, Architectures: x86, Network: network(3, 10),
			GPUs: []instancetype.Accelerator{{Name: "Radeon Pro V520", Manufacturer: "AMD", Count: 1, MemoryMiB: 8192}},
		},
		{Name: "i3en.24xlarge", VCPUs: 96, MemoryMiB: 786432, Architectures: x86, Network: withFabric(network(15, 50), 1), NVMe: "required", InstanceStorageGB: 60000},
		{Name: "m5.metal", VCPUs: 96, MemoryMiB: 393216, Architectures: x86, Network: network(15, 50), BareMetal: true},
		{Name: "u-6tb1.metal", VCPUs: 448, MemoryMiB: 6291456, Architectures: x86, Network: network(5, 30), BareMetal: true},
		{Name: "m6idn.32xlarge", VCPUs: 128, MemoryMiB: 524288, Architectures: x86, Network: twoCards()},
	}
	at := slices.IndexFunc(catalog, func(d instancetype.Description) bool { return d.Name == name })
	if at < 0 {
		t.Fatalf("no %s", name)
	}
	d := catalog[at]
	if !d.BareMetal {
		d.Hypervisor = "nitro"
	}
	d.UsageClasses = []string{"on-demand", "spot"}
	d.PlacementStrategies = []string{"cluster", "partition", "spread"}
	return d
}

// twoCards is the network of m6idn.32xlarge.
func twoCards() *instancetype.Network {
	n := withFabric(network(8, 50), 2)
	n.Cards = append(n.Cards, instancetype.Card{Index: 1, MaximumInterfaces: 8})
	return n
}

// input is a type under an AL2023 class with subnets in two zones.
func input(t testing.TB, name string) instancetype.Input {
	t.Helper()
	return instancetype.Input{
		Description: describe(t, name),
		Limits:      instancetype.KnownLimits()[name],
		Settings:    instancetype.Settings{Region: "us-east-1", VMMemoryOverheadPercent: 0.075},
		Class: instancetype.Class{Family: awsv1.FamilyAL2023, Subnets: []awsv1.Subnet{
			{ID: "subnet-a", Zone: "us-east-1a", ZoneID: "use1-az1"}, {ID: "subnet-a2", Zone: "us-east-1a", ZoneID: "use1-az1"}, {ID: "subnet-b", Zone: "us-east-1b", ZoneID: "use1-az2"},
		}},
		Market: instancetype.Availability{
			Zones: []string{"us-east-1a", "us-east-1b", "us-east-1c", "us-east-1-bos-1a"}, TypeZones: []string{"us-east-1a", "us-east-1b", "us-east-1c"},
			OnDemand: 0.096, Spot: map[string]float64{"us-east-1a": 0.03, "us-east-1c": 0.04},
		},
	}
}

// label formats the values of a label of a type, "-" when it is absent.
func label(it *cloud.InstanceType, key string) string {
	r := cloud.Requirements(it.Requirements, awsv1.LabelRules()).Get(key)
	switch {
	case r.Operator() == requirement.DoesNotExist:
		return "-"
	case len(r.Values()) == 1:
		return r.Values()[0]
	default:
		return r.String()
	}
}

// available lists the available offerings, as capacity type and zone.
func available(it *cloud.InstanceType) []string {
	var out []string
	for _, o := range it.Offerings {
		if o.Available {
			out = append(out, o.CapacityType()+" "+o.Zone())
		}
	}
	return out
}

// allocatable formats the allocatable amount of a resource.
func allocatable(it *cloud.InstanceType, name corev1.ResourceName) string {
	q := it.Allocatable()[name]
	return q.String()
}

// mebibytes is an amount of memory.
func mebibytes(n int64) *resource.Quantity { return resource.NewQuantity(n<<20, resource.BinarySI) }
