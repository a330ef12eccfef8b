package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const (
	// azurePods is how many pods a node of AKS takes with the network plugin azure in mode overlay, unless its class says otherwise.
	azurePods = 250
	// leastCPUs and leastMemory are what AKS requires of nodes; memory in GiB.
	leastCPUs, leastMemory = 2, 3.5
	// azureZones are the zones of the locations that have some. The data set does not say in which of them a size is offered.
	azureZones = "123"
)

// runAzure writes one file a location.
func runAzure(folder string, locations []string) error {
	src, err := openSource()
	if err != nil {
		return err
	}
	instances, err := src.readAzure()
	if err != nil {
		return err
	}
	for _, location := range locations {
		types, err := condenseAzure(instances, location)
		if err != nil {
			return fmt.Errorf("condensing location %q: %w", location, err)
		}
		data, err := encode(src, location, types)
		if err != nil {
			return fmt.Errorf("encoding location %q: %w", location, err)
		}
		path := filepath.Join(folder, "azure-"+location+".json")
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return err
		}
		fmt.Printf("%s: %d types, %d bytes\n", path, len(types), len(data))
	}
	return nil
}

// condenseAzure keeps the sizes that nodes of AKS can have in a location with zones, and that have a price there.
func condenseAzure(instances []azureInstance, location string) ([]catalogType, error) {
	if !slices.Contains(zonalLocations(), location) {
		return nil, fmt.Errorf("it is not known to have zones")
	}
	region := regionOf(location)
	var out []catalogType
	for _, in := range instances {
		name := azureSKU(azureName(in))
		price := in.Pricing[region].Linux
		if name == "" || price == nil || price.OnDemand <= 0 || in.CPUs < leastCPUs || in.Memory < leastMemory || confidential(name) || retired(name) {
			continue
		}
		extended, err := in.extended(name)
		if err != nil {
			return nil, fmt.Errorf("size %q: %w", name, err)
		}
		out = append(out, catalogType{
			Name: "Standard_" + name, Arch: in.arch(name), CPU: in.CPUs, MemoryMi: int64(math.Round(in.Memory * 1024)), Pods: azurePods,
			Extended: extended, OnDemand: price.OnDemand, Spot: in.spot(price.Spot), Zones: azureZones,
		})
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("the location offers no size")
	}
	slices.SortFunc(out, func(a, b catalogType) int { return strings.Compare(a.Name, b.Name) })
	for i := 1; i < len(out); i++ {
		if out[i].Name == out[i-1].Name {
			return nil, fmt.Errorf("size %q appears twice", out[i].Name)
		}
	}
	return out, nil
}

// azureSKU is the name that Azure has for a size of the data set, which drops separators and changes letters of some. It is empty for
// sizes that nodes cannot have: those that are no virtual machines, those whose names the provider for AKS does not know, and D11s and the
// like, which stand for DS11, which is there, too.
func azureSKU(name string) string {
	if regexp.MustCompile(`^(S\d|D\d+s$|NM|M896ixds)`).MatchString(name) {
		return ""
	}
	name = strings.ReplaceAll(name, "_v710_", "_V710_")
	return regexp.MustCompile(`^(M\d+[a-z]+)(\d+)_v`).ReplaceAllString(name, "${1}_${2}_v")
}

// zonalLocations are locations with three zones. Source: the page "Azure regions list" of Azure.
func zonalLocations() []string {
	return []string{
		"australiaeast", "brazilsouth", "canadacentral", "centralindia", "centralus", "eastasia", "eastus", "eastus2", "francecentral",
		"germanywestcentral", "japaneast", "koreacentral", "northeurope", "norwayeast", "southafricanorth", "southcentralus", "southeastasia",
		"swedencentral", "switzerlandnorth", "uaenorth", "uksouth", "westeurope", "westus2", "westus3",
	}
}

// regionOf is the name that the data set has for a location.
func regionOf(location string) string {
	for region, name := range azureLocations() {
		if name == location {
			return region
		}
	}
	return ""
}

// spot is the price of a spot virtual machine; 0 if there are none.
func (in azureInstance) spot(price float64) float64 {
	if in.Spot != nil && !*in.Spot {
		return 0
	}
	return max(price, 0)
}

// confidential reports whether virtual machines of a size are for confidential computing: nodes do not get these.
func confidential(name string) bool { return regexp.MustCompile(`^(DC|EC|NCC)`).MatchString(name) }

// retired reports whether Azure has ended a size by the end of 2025: series A, NC, NCv2, NCv3, ND and NV. They are still in the price list.
// Source: the page "Retired Azure virtual machine sizes" of Azure.
func retired(name string) bool {
	return regexp.MustCompile(`^(A\d+|NC\d+r?|NC\d+r?s_v[23]|ND\d+r?s|NV\d+)$`).MatchString(name)
}

// arch is the Kubernetes name of the architecture. The data set has it for about half of the sizes; the feature p of a name says the same.
func (in azureInstance) arch(name string) string {
	features := regexp.MustCompile(`^[A-Z]+\d+([a-z]*)`).FindStringSubmatch(name)
	if slices.Contains(in.Arch, "Arm64") || len(in.Arch) == 0 && features != nil && strings.Contains(features[1], "p") {
		return "arm64"
	}
	return "amd64"
}

// gpus counts the GPUs. A part of a GPU is one device for Kubernetes. The video processors of one series are none.
func (in azureInstance) gpus() (int64, error) {
	text := strings.ToLower(in.GPU)
	if text == "0" || text == "" || strings.Contains(text, "vpu") {
		return 0, nil
	}
	count := regexp.MustCompile(`^(\d+)(/\d+)?`).FindStringSubmatch(text)
	if count == nil {
		return 0, fmt.Errorf("GPUs %q are no number", in.GPU)
	}
	n := int64(1)
	if count[2] == "" {
		if _, err := fmt.Sscan(count[1], &n); err != nil {
			return 0, fmt.Errorf("GPUs %q: %w", in.GPU, err)
		}
	}
	return n, nil
}

// extended are the GPUs as their device plugins name them.
func (in azureInstance) extended(name string) (map[string]int64, error) {
	n, err := in.gpus()
	if n == 0 {
		return nil, err
	}
	upper := strings.ToUpper(name + " " + in.GPU)
	for _, amd := range []string{"V620", "V710", "MI25", "MI300", "NV4AS", "NV8AS", "NV16AS", "NV32AS"} {
		if strings.Contains(upper, amd) {
			return map[string]int64{"amd.com/gpu": n}, nil
		}
	}
	return map[string]int64{"nvidia.com/gpu": n}, nil
}
