package awstest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/aws/instancetype"
	"github.com/karpenter-anew/karpenter/cloud/kwok"
)

// typeInfo is an instance type and its prices.
type typeInfo struct {
	name     string
	wire     wireType
	zones    []string
	onDemand float64
	spot     map[string]float64 // by zone
}

// wireType is an instance type in the response of DescribeInstanceTypes, with the fields that clients read.
type wireType struct {
	Name            string        `xml:"instanceType"`
	BareMetal       bool          `xml:"bareMetal"`
	Hypervisor      string        `xml:"hypervisor,omitempty"`
	UsageClasses    []string      `xml:"supportedUsageClasses>item"`
	Virtualizations []string      `xml:"supportedVirtualizationTypes>item"`
	VCPUs           int64         `xml:"vCpuInfo>defaultVCpus"`
	MemoryMiB       int64         `xml:"memoryInfo>sizeInMiB"`
	Processor       wireProcessor `xml:"processorInfo"`
	EBSOptimized    string        `xml:"ebsInfo>ebsOptimizedSupport"`
	EBSMaxMbps      int64         `xml:"ebsInfo>ebsOptimizedInfo>maximumBandwidthInMbps,omitempty"`
	Network         wireNetwork   `xml:"networkInfo"`
	GPUs            []wireGPU     `xml:"gpuInfo>gpus>item,omitempty"`
	Neurons         []wireNeuron  `xml:"neuronInfo>neuronDevices>item,omitempty"`
	Storage         *wireStorage  `xml:"instanceStorageInfo"`
	Enclaves        string        `xml:"nitroEnclavesSupport"`
	Strategies      []string      `xml:"placementGroupInfo>supportedStrategies>item"`
}

type wireProcessor struct {
	Architectures []string `xml:"supportedArchitectures>item"`
	Manufacturer  string   `xml:"manufacturer"`
	GHz           float64  `xml:"sustainedClockSpeedInGhz"`
}

type wireNetwork struct {
	DefaultCard int64      `xml:"defaultNetworkCardIndex"`
	Cards       []wireCard `xml:"networkCards>item"`
	IPv4        int64      `xml:"ipv4AddressesPerInterface"`
	ENA         string     `xml:"enaSupport"`
	EFA         bool       `xml:"efaSupported"`
	MaximumEFAs int64      `xml:"efaInfo>maximumEfaInterfaces,omitempty"`
	Encrypted   bool       `xml:"encryptionInTransitSupported"`
}

type wireCard struct {
	Index      int64 `xml:"networkCardIndex"`
	Interfaces int64 `xml:"maximumNetworkInterfaces"`
}

type wireGPU struct {
	Name         string `xml:"name"`
	Manufacturer string `xml:"manufacturer"`
	Count        int64  `xml:"count"`
	MemoryMiB    int64  `xml:"memoryInfo>sizeInMiB"`
}

type wireNeuron struct {
	Name  string `xml:"name"`
	Count int64  `xml:"count"`
	Cores int64  `xml:"coreInfo>count"`
}

type wireStorage struct {
	TotalGB int64  `xml:"totalSizeInGB"`
	NVMe    string `xml:"nvmeSupport"`
}

// loadTypes reads the embedded catalog. It derives fields that the catalog does not have from the name of the type, as far as
// possible.
func loadTypes(catalog string, only []string) (region string, types []typeInfo) {
	place, err := kwok.New(nil, kwok.Options{Catalog: catalog})
	if err != nil {
		panic(fmt.Sprintf("reading catalog %q: %v", catalog, err)) // a test names one that exists
	}
	sold, err := place.Provider.InstanceTypes(context.Background(), nil)
	if err != nil {
		panic(fmt.Sprintf("reading catalog %q: %v", catalog, err)) // it is embedded
	}
	_, region, _ = strings.Cut(catalog, "/")
	limits := instancetype.KnownLimits()
	for _, t := range sold {
		if len(only) > 0 && !slices.Contains(only, t.Name) {
			continue
		}
		types = append(types, describe(t, limits[t.Name]))
	}
	return region, types
}

// describe is an instance type in the format of EC2.
func describe(t *cloud.InstanceType, limits instancetype.NetworkLimits) typeInfo {
	info := typeInfo{name: t.Name, spot: map[string]float64{}}
	usage := []string{v1.CapacityTypeOnDemand}
	for i := range t.Offerings {
		o := &t.Offerings[i]
		if o.CapacityType() == v1.CapacityTypeSpot {
			info.spot[o.Zone()] = o.Price
			continue
		}
		info.zones, info.onDemand = append(info.zones, o.Zone()), o.Price
	}
	if len(info.spot) > 0 {
		usage = append(usage, v1.CapacityTypeSpot)
	}
	family, size, _ := strings.Cut(t.Name, ".")
	memory := t.Capacity[corev1.ResourceMemory]
	w := wireType{
		Name: t.Name, BareMetal: strings.Contains(size, "metal"), UsageClasses: usage, Virtualizations: []string{"hvm"},
		VCPUs: t.Capacity.Cpu().Value(), MemoryMiB: memory.Value() >> 20, EBSOptimized: "default", EBSMaxMbps: 4750,
		Processor: processor(t, family),
		Network: wireNetwork{
			Cards: []wireCard{{0, cmp.Or(limits.Interfaces, 2)}}, IPv4: cmp.Or(limits.IPv4PerInterface, 4), ENA: "required",
			Encrypted: !old(family),
		},
		Enclaves: "unsupported", Strategies: []string{"cluster", "partition", "spread"},
	}
	if !w.BareMetal {
		w.Hypervisor = "nitro"
		if old(family) {
			w.Hypervisor = "xen"
		}
	}
	if limits.BandwidthMbps >= 100_000 {
		w.Network.EFA, w.Network.MaximumEFAs = true, 1
	}
	if w.Hypervisor == "nitro" && w.VCPUs >= 4 {
		w.Enclaves = "supported"
	}
	if base := strings.TrimRight(family, "n"); strings.HasSuffix(base, "d") && len(base) > 2 {
		w.Storage = &wireStorage{TotalGB: w.VCPUs * 75 / 2, NVMe: "required"}
	}
	w.GPUs, w.Neurons = accelerators(t, family)
	info.wire = w
	return info
}

// old reports whether an instance family predates the Nitro system.
func old(family string) bool {
	return slices.Contains([]string{
		"c1", "c3", "c4", "d2", "f1", "g2", "g3", "g3s", "h1", "i2", "i3", "m1", "m2", "m3", "m4", "p2", "p3", "r3", "r4", "t1", "t2", "x1", "x1e",
	}, family)
}

func processor(t *cloud.InstanceType, family string) wireProcessor {
	arch := cloud.Requirements(t.Requirements, v1.CoreLabelRules()).Get(corev1.LabelArchStable)
	switch {
	case arch.Has("arm64"):
		return wireProcessor{[]string{"arm64"}, "AWS", 2.5}
	case strings.HasSuffix(strings.TrimRight(family, "dn"), "a"):
		return wireProcessor{[]string{"x86_64"}, "AMD", 3.3}
	default:
		return wireProcessor{[]string{"x86_64"}, "Intel", 3.1}
	}
}

// accelerators are the accelerators of the catalog, with the names of the family.
func accelerators(t *cloud.InstanceType, family string) ([]wireGPU, []wireNeuron) {
	count := func(name corev1.ResourceName) int64 {
		q := t.Capacity[name]
		return q.Value()
	}
	names := map[string]string{"g4dn": "T4", "g5": "A10G", "g6": "L4", "g6e": "L40S", "p3": "V100", "p4d": "A100", "p5": "H100", "g4ad": "Radeon Pro V520", "dl1": "Gaudi HL-205"}
	name, ok := names[family]
	if !ok {
		name = strings.ToUpper(family)
	}
	for resource, manufacturer := range map[corev1.ResourceName]string{"nvidia.com/gpu": "NVIDIA", "amd.com/gpu": "AMD", "habana.ai/gaudi": "Habana"} {
		if n := count(resource); n > 0 {
			return []wireGPU{{name, manufacturer, n, 16384}}, nil
		}
	}
	if n := count("aws.amazon.com/neuron"); n > 0 {
		return nil, []wireNeuron{{map[bool]string{true: "Inferentia", false: "Trainium"}[strings.HasPrefix(family, "inf")], n, 2}}
	}
	return nil, nil
}

func describeInstanceTypes(a *Account, f *form) (any, error) {
	conditions, err := filters(f, "supported-virtualization-type", "processor-info.supported-architecture", "instance-type", "bare-metal")
	if err != nil {
		return nil, err
	}
	names := f.list("InstanceType")
	found := keep(a.types, func(t typeInfo) bool {
		return (len(names) == 0 || slices.Contains(names, t.name)) && meets(conditions, nil, map[string][]string{
			"supported-virtualization-type":         t.wire.Virtualizations,
			"processor-info.supported-architecture": t.wire.Processor.Architectures,
			"instance-type":                         {t.name},
			"bare-metal":                            {fmt.Sprint(t.wire.BareMetal)},
		})
	})
	found, token, err := page(f, found, 100, len(names) > 0)
	if err != nil {
		return nil, err
	}
	answer := struct {
		Types []wireType `xml:"instanceTypeSet>item"`
		Token string     `xml:"nextToken,omitempty"`
	}{Token: token}
	for _, t := range found {
		answer.Types = append(answer.Types, t.wire)
	}
	return answer, nil
}

func describeInstanceTypeOfferings(a *Account, f *form) (any, error) {
	kind := f.or("LocationType", "region")
	if kind != "availability-zone" {
		return nil, refuse("InvalidParameterValue", "location type %s is not served here", kind)
	}
	conditions, err := filters(f, "instance-type", "location")
	if err != nil {
		return nil, err
	}
	type offering struct {
		Type     string `xml:"instanceType"`
		Kind     string `xml:"locationType"`
		Location string `xml:"location"`
	}
	var all []offering
	for _, t := range a.types {
		for _, zone := range t.zones {
			if meets(conditions, nil, map[string][]string{"instance-type": {t.name}, "location": {zone}}) {
				all = append(all, offering{t.name, kind, zone})
			}
		}
	}
	all, token, err := page(f, all, 1000, false)
	return struct {
		Offerings []offering `xml:"instanceTypeOfferingSet>item"`
		Token     string     `xml:"nextToken,omitempty"`
	}{all, token}, err
}

func describeSpotPriceHistory(a *Account, f *form) (any, error) {
	products := f.list("ProductDescription")
	f.text("StartTime")
	f.text("EndTime")
	type entry struct {
		Type    string `xml:"instanceType"`
		Product string `xml:"productDescription"`
		Price   string `xml:"spotPrice"`
		Time    string `xml:"timestamp"`
		Zone    string `xml:"availabilityZone"`
	}
	const product = "Linux/UNIX"
	var all []entry
	if len(products) == 0 || slices.Contains(products, product) {
		for _, t := range a.types {
			for _, zone := range slices.Sorted(maps.Keys(t.spot)) {
				all = append(all, entry{t.name, product, fmt.Sprintf("%.6f", t.spot[zone]), stamp(a.clock.Now()), zone})
			}
		}
	}
	all, token, err := page(f, all, 10000, false)
	return struct {
		Entries []entry `xml:"spotPriceHistorySet>item"`
		Token   string  `xml:"nextToken,omitempty"`
	}{all, token}, err
}

// typeNamed is an instance type; nil if there is none. The account is locked.
func (a *Account) typeNamed(name string) *typeInfo {
	at := slices.IndexFunc(a.types, func(t typeInfo) bool { return t.name == name })
	if at < 0 {
		return nil
	}
	return &a.types[at]
}

// SetSpotPrice changes a price. A price of 0 removes the offering.
func (a *Account) SetSpotPrice(instanceType, zone string, price float64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.typeNamed(instanceType)
	if price == 0 {
		delete(t.spot, zone)
		return
	}
	t.spot[zone] = price
}

// AddOffering adds offerings of an instance type in one more zone: on-demand, and spot unless the price is 0.
func (a *Account) AddOffering(instanceType, zone string, spot float64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.typeNamed(instanceType)
	t.zones = append(slices.Clip(t.zones), zone)
	if spot > 0 {
		t.spot[zone] = spot
	}
}

// SellNothing removes all offerings. The function it returns restores them.
func (a *Account) SellNothing() (resume func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	types := a.types
	a.types = nil
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.types = types
	}
}

// Withdraw removes all offerings of an instance type.
func (a *Account) Withdraw(instanceType string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.types = slices.DeleteFunc(slices.Clone(a.types), func(t typeInfo) bool { return t.name == instanceType })
}
