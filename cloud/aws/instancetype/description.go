// Package instancetype computes an EC2 instance type under a node class as scheduling needs it: labels, capacity, overhead
// and offerings. All cloud data comes in as plain values; the package makes no calls, keeps no state and logs nothing.
//
// Source: AWS provider specification, instance types, offerings and prices.
package instancetype

import (
	"regexp"
	"slices"
	"strings"
)

// Architectures by their EC2 names.
const (
	archX86   = "x86_64"
	archARM64 = "arm64"
)

// hypervisorNitro is the only hypervisor on which connection tracking timeouts can be set.
const hypervisorNitro = "nitro"

// featureNestedVirtualization is the processor feature for nested virtualization.
const featureNestedVirtualization = "nested-virtualization"

// Description is what EC2 reports about an instance type. Any field may be missing.
type Description struct {
	Name string
	// VCPUs is the default number.
	VCPUs     int64
	MemoryMiB int64
	// Architectures in the order of EC2; the first that Kubernetes supports applies.
	Architectures []string
	// CPUManufacturer in the spelling of EC2, for instance "Intel".
	CPUManufacturer string
	ClockGHz        float64
	CPUFeatures     []string
	// UsageClasses are on-demand, spot, and others that are ignored here.
	UsageClasses []string
	// Hypervisor is empty for bare metal.
	Hypervisor string
	BareMetal  bool
	// EBSOptimized is whether EBS has dedicated bandwidth: default, supported or unsupported.
	EBSOptimized string
	// EBSMaxMbps is the maximum EBS bandwidth; 0 when unknown.
	EBSMaxMbps int64
	// NVMe is whether there are NVMe disks: required, supported or unsupported.
	NVMe string
	// InstanceStorageGB is the total size of the instance store volumes; 0 for none.
	InstanceStorageGB int64
	// Network is nil when unknown.
	Network *Network
	GPUs    []Accelerator
	// Neurons are the AWS Inferentia and Trainium devices.
	Neurons []Neuron
	// InferenceAccelerators are older devices.
	InferenceAccelerators []Accelerator
	// NitroEnclaves says that the type supports Nitro Enclaves.
	NitroEnclaves bool
	// PlacementStrategies are the placement group strategies that the type supports.
	PlacementStrategies []string
}

// Network is what EC2 reports about a type's network.
type Network struct {
	// DefaultCard is the index of the card that the primary interface is on.
	DefaultCard      int64
	Cards            []Card
	IPv4PerInterface int64
	ENASupported     bool
	EFASupported     bool
	// MaximumEFAs is the maximum number of fabric adapters; 0 when unknown.
	MaximumEFAs         int64
	EncryptionInTransit bool
}

// Card is a network card.
type Card struct {
	Index             int64
	MaximumInterfaces int64
}

// Accelerator is a kind of accelerator and its count.
type Accelerator struct {
	Name, Manufacturer string
	Count              int64
	// MemoryMiB is the memory of one accelerator.
	MemoryMiB int64
}

// Neuron is a kind of Neuron device and its count.
type Neuron struct {
	Name  string
	Count int64
	// Cores is the number of cores of one device.
	Cores int64
}

// card is the card with an index; false when there is none.
func (n *Network) card(index int64) (Card, bool) {
	if n == nil {
		return Card{}, false
	}
	at := slices.IndexFunc(n.Cards, func(c Card) bool { return c.Index == index })
	if at < 0 {
		return Card{}, false
	}
	return n.Cards[at], true
}

// defaultInterfaces is how many interfaces the default card supports; 0 when unknown.
func (n *Network) defaultInterfaces() int64 {
	if n == nil {
		return 0
	}
	card, _ := n.card(n.DefaultCard)
	return card.MaximumInterfaces
}

// maximumEFAs is how many fabric adapters the type supports.
func (n *Network) maximumEFAs() int64 {
	if n == nil || !n.EFASupported {
		return 0
	}
	return n.MaximumEFAs
}

// ipv4PerInterface is how many addresses an interface has; 0 when unknown.
func (n *Network) ipv4PerInterface() int64 {
	if n == nil {
		return 0
	}
	return n.IPv4PerInterface
}

// architecture is the Kubernetes name of the first architecture that Kubernetes supports, or else EC2's name, which matches
// no image.
func (d *Description) architecture() string {
	for _, arch := range d.Architectures {
		switch arch {
		case archX86:
			return "amd64"
		case archARM64:
			return "arm64"
		}
	}
	return "[" + strings.Join(d.Architectures, " ") + "]"
}

// namePattern splits a name such as m5.large or u-6tb1.metal: the category is the first group, the generation the third.
var namePattern = regexp.MustCompile(`(^[a-z]+)(\-[0-9]+tb)?([0-9]+).*\.`)

// nameParts are the parts of a name: category and generation, empty if it does not follow the pattern, family and size.
func nameParts(name string) (category, generation, family, size string) {
	if m := namePattern.FindStringSubmatch(name); m != nil {
		category, generation = m[1], m[3]
	}
	family, size, _ = strings.Cut(name, ".")
	return category, generation, family, size
}
