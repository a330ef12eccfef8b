// Package instancetype works out what an EC2 instance type is worth to pods under a node class: labels, capacity, overhead
// and the ways to buy it. Everything that the cloud says comes in as plain values, and nothing is asked, kept or logged.
//
// Source: AWS provider specification, instance types, offerings and prices.
package instancetype

import (
	"regexp"
	"slices"
	"strings"
)

// Architectures as EC2 names them.
const (
	archX86   = "x86_64"
	archARM64 = "arm64"
)

// hypervisorNitro is the only hypervisor that tracks connections for as long as one likes.
const hypervisorNitro = "nitro"

// featureNestedVirtualization is the processor's ability to run virtual machines in virtual machines.
const featureNestedVirtualization = "nested-virtualization"

// Description is what EC2 tells of an instance type. Anything may be missing.
type Description struct {
	Name string
	// VCPUs is the default number.
	VCPUs     int64
	MemoryMiB int64
	// Architectures in the order of EC2; the first that Kubernetes knows counts.
	Architectures []string
	// CPUManufacturer as EC2 spells it, for instance "Intel".
	CPUManufacturer string
	ClockGHz        float64
	CPUFeatures     []string
	// UsageClasses are on-demand, spot, and others that do not matter here.
	UsageClasses []string
	// Hypervisor is empty for bare metal.
	Hypervisor string
	BareMetal  bool
	// EBSOptimized is whether the network to volumes is separate: default, supported or unsupported.
	EBSOptimized string
	// EBSMaxMbps is the most that this network carries; 0 when unknown.
	EBSMaxMbps int64
	// NVMe is whether there are NVMe disks: required, supported or unsupported.
	NVMe string
	// InstanceStorageGB is the size of all built-in disks together; 0 for none.
	InstanceStorageGB int64
	// Network is nil when unknown.
	Network *Network
	GPUs    []Accelerator
	// Neurons are the AWS Inferentia and Trainium devices.
	Neurons []Neuron
	// InferenceAccelerators are older devices.
	InferenceAccelerators []Accelerator
	// NitroEnclaves says that isolated parts can be set up.
	NitroEnclaves bool
	// PlacementStrategies are the kinds of placement groups that take the type.
	PlacementStrategies []string
}

// Network is what EC2 tells of a type's network.
type Network struct {
	// DefaultCard is the index of the card that the primary interface is on.
	DefaultCard      int64
	Cards            []Card
	IPv4PerInterface int64
	ENASupported     bool
	EFASupported     bool
	// MaximumEFAs is how many fabric adapters there can be; 0 when unknown.
	MaximumEFAs         int64
	EncryptionInTransit bool
}

// Card is a network card.
type Card struct {
	Index             int64
	MaximumInterfaces int64
}

// Accelerator is a kind of accelerator and how many there are.
type Accelerator struct {
	Name, Manufacturer string
	Count              int64
	// MemoryMiB is the memory of one.
	MemoryMiB int64
}

// Neuron is a kind of Neuron device and how many there are.
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

// defaultInterfaces is how many interfaces the default card takes; 0 when unknown.
func (n *Network) defaultInterfaces() int64 {
	if n == nil {
		return 0
	}
	card, _ := n.card(n.DefaultCard)
	return card.MaximumInterfaces
}

// maximumEFAs is how many fabric adapters the type takes.
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

// architecture is the name that Kubernetes has for the first architecture it knows, or else what EC2 says, so that nothing
// matches it.
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

// nameParts are what a name says: category and generation, empty if it does not follow the pattern, family and size.
func nameParts(name string) (category, generation, family, size string) {
	if m := namePattern.FindStringSubmatch(name); m != nil {
		category, generation = m[1], m[3]
	}
	family, size, _ = strings.Cut(name, ".")
	return category, generation, family, size
}
