package kwok

import (
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// regionFiles hold the instance types of real regions, one file per region. tools/ec2catalog writes them.
//
//go:generate go run -C ../../tools/ec2catalog . -out ../../cloud/kwok/catalogs us-east-1 us-west-2 eu-west-1 eu-central-1
//go:generate go run -C ../../tools/ec2catalog . -azure -out ../../cloud/kwok/catalogs eastus westus2 northeurope westeurope
//go:embed catalogs/*.json
var regionFiles embed.FS

const (
	regionFolder = "catalogs"
	regionSuffix = ".json"
)

// regionFile is the generated format of a region's catalog.
type regionFile struct {
	// Source, Version and Date are the origin of the data.
	Source  string `json:"source"`
	Version string `json:"version"`
	Date    string `json:"date"`
	// Region is the region's name. A zone is the region followed by a letter on AWS, and by a dash and a number on Azure.
	Region string       `json:"region"`
	Types  []regionType `json:"types"`
}

// regionType is one instance type of a region. Prices are dollars per hour.
type regionType struct {
	Name     string           `json:"name"`
	Arch     string           `json:"arch"`
	CPU      int64            `json:"cpu"`
	MemoryMi int64            `json:"memoryMi"`
	Pods     int64            `json:"pods"`
	Extended map[string]int64 `json:"extended,omitempty"`
	OnDemand float64          `json:"onDemand"`
	Spot     float64          `json:"spot,omitempty"` // 0 without spot offerings
	Zones    string           `json:"zones"`          // one letter or digit a zone
}

// regionCatalogNames are the names of the embedded regions: cloud/region.
func regionCatalogNames() []string {
	entries, err := regionFiles.ReadDir(regionFolder)
	if err != nil {
		// The folder is part of the binary: only a build without it fails.
		panic(fmt.Sprintf("reading the embedded folder %s: %v", regionFolder, err))
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.Replace(strings.TrimSuffix(e.Name(), regionSuffix), "-", "/", 1))
	}
	return names
}

// readRegion reads an embedded region.
func readRegion(name string) (catalog, error) {
	if !slices.Contains(regionCatalogNames(), name) {
		return catalog{}, unknownCatalog(name)
	}
	path := regionFolder + "/" + strings.Replace(name, "/", "-", 1) + regionSuffix
	data, err := regionFiles.ReadFile(path)
	if err != nil {
		return catalog{}, fmt.Errorf("reading catalog %q: %w", name, err)
	}
	var file regionFile
	if err := json.Unmarshal(data, &file); err != nil {
		return catalog{}, fmt.Errorf("reading catalog %q: %w", name, err)
	}
	types := make([]catalogType, 0, len(file.Types))
	for _, t := range file.Types {
		types = append(types, t.catalogType(file.Region))
	}
	return catalog{types: types, offeringKeys: offeringKeysOf(types)}, nil
}

// exotic reports whether a type is bare metal or has accelerators, which are all extended resources of a catalog. A launch on AWS leaves
// out such types unless there are no others. Source: AWS specification, launch filters.
func (t regionType) exotic() bool {
	_, size, _ := strings.Cut(t.Name, ".")
	return strings.Contains(size, "metal") || len(t.Extended) > 0
}

// family is that of a size on Azure, the letters before the number of CPUs: NC for Standard_NC24ads_A100_v4. It is empty for other types.
func (t regionType) family() string {
	name, azure := strings.CutPrefix(t.Name, "Standard_")
	if !azure {
		return ""
	}
	return name[:max(strings.IndexFunc(name, unicode.IsDigit), 0)]
}

func (t regionType) catalogType(region string) catalogType {
	m := catalogType{
		name:    t.Name,
		arch:    t.Arch,
		systems: []string{string(corev1.Linux)},
		region:  region,
		family:  t.family(),
		exotic:  t.exotic(),
		capacity: corev1.ResourceList{
			corev1.ResourceCPU:              *resource.NewQuantity(t.CPU, resource.DecimalSI),
			corev1.ResourceMemory:           *resource.NewQuantity(t.MemoryMi<<20, resource.BinarySI),
			corev1.ResourceEphemeralStorage: *resource.NewQuantity(rootVolume, resource.BinarySI),
			corev1.ResourcePods:             *resource.NewQuantity(t.Pods, resource.DecimalSI),
		},
	}
	for name, n := range t.Extended {
		m.capacity[corev1.ResourceName(name)] = *resource.NewQuantity(n, resource.DecimalSI)
	}
	for _, mark := range t.Zones {
		zone := region + string(mark)
		if unicode.IsDigit(mark) {
			zone = region + "-" + string(mark)
		}
		m.offerings = append(m.offerings, offer(zone, v1.CapacityTypeOnDemand, t.OnDemand))
		if t.Spot > 0 {
			m.offerings = append(m.offerings, offer(zone, v1.CapacityTypeSpot, t.Spot))
		}
	}
	return m
}
