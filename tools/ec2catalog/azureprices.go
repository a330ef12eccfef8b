package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// azureInstance is what we use of one entry of the data set of Azure.
type azureInstance struct {
	Type string `json:"instance_type"`
	// Name is the name of the size with blanks instead of underscores, with or without the tier: "Standard D4s v3", "D2as v6".
	Name   string  `json:"pretty_name_azure"`
	CPUs   int64   `json:"vcpu"`
	Memory float64 `json:"memory"` // GiB
	// GPU is the number and the model, such as "2X A10" or "1/2X A10"; "0" for none.
	GPU string `json:"GPU"`
	// Arch, the features below and the cache are not known of about half of the sizes.
	Arch []string `json:"arch"`
	Spot *bool    `json:"low_priority"`
	// HyperV is the generations, as V1,V2.
	HyperV     string `json:"hyperv_generations"`
	Networking bool   `json:"accelerated_networking"`
	PremiumIO  bool   `json:"premium_io"`
	Encryption bool   `json:"encryption"`
	UltraSSD   bool   `json:"ultra_ssd"`
	// NoTrustedLaunch says that Trusted Launch cannot be used, in spite of its name in the data set: it is that of the capability
	// TrustedLaunchDisabled.
	NoTrustedLaunch bool `json:"trusted_launch"`
	// Cache and TemporaryDisk are sizes in GiB; the temporary disk is on NVMe from version 6 on.
	Cache         *int64 `json:"cached_disk"`
	TemporaryDisk *int64 `json:"size"`
	Pricing       map[string]struct {
		Linux *azurePrice `json:"linux"`
	} `json:"pricing"`
}

// azurePrice is the prices of a size in a location.
type azurePrice struct {
	OnDemand float64 `json:"ondemand"`
	// Spot is the lowest price of a spot virtual machine.
	Spot float64 `json:"spot_min"`
}

// azureLocations returns the names that Azure has for the locations of the data set.
func azureLocations() map[string]string {
	return map[string]string{
		"asia-pacific-east": "eastasia", "asia-pacific-southeast": "southeastasia", "australia-central": "australiacentral", "australia-central-2": "australiacentral2",
		"australia-east": "australiaeast", "australia-southeast": "australiasoutheast", "brazil-south": "brazilsouth", "brazil-southeast": "brazilsoutheast",
		"canada-central": "canadacentral", "canada-east": "canadaeast", "central-india": "centralindia", "europe-north": "northeurope", "europe-west": "westeurope",
		"france-central": "francecentral", "france-south": "francesouth", "germany-north": "germanynorth", "germany-west-central": "germanywestcentral",
		"japan-east": "japaneast", "japan-west": "japanwest", "korea-central": "koreacentral", "korea-south": "koreasouth", "norway-east": "norwayeast",
		"norway-west": "norwaywest", "qatar-central": "qatarcentral", "south-africa-north": "southafricanorth", "south-africa-west": "southafricawest",
		"south-india": "southindia", "sweden-central": "swedencentral", "sweden-south": "swedensouth", "switzerland-north": "switzerlandnorth",
		"switzerland-west": "switzerlandwest", "uae-central": "uaecentral", "uae-north": "uaenorth", "united-kingdom-south": "uksouth", "united-kingdom-west": "ukwest",
		"us-central": "centralus", "us-east": "eastus", "us-east-2": "eastus2", "us-north-central": "northcentralus", "us-south-central": "southcentralus",
		"us-west": "westus", "us-west-2": "westus2", "us-west-3": "westus3", "us-west-central": "westcentralus", "usgov-arizona": "usgovarizona",
		"usgov-texas": "usgovtexas", "usgov-virginia": "usgovvirginia", "west-india": "westindia",
	}
}

// writeAzurePrices writes the on-demand prices of all sizes of Azure in all locations.
func writeAzurePrices(path string) error {
	src, err := openSource()
	if err != nil {
		return err
	}
	instances, err := src.readAzure()
	if err != nil {
		return err
	}
	table, err := encodeAzurePrices(src, instances, onDemandPrices())
	if err != nil {
		return err
	}
	return os.WriteFile(path, table, 0o644)
}

// writeAzureSpotPrices writes the lowest prices of spot virtual machines of all sizes of Azure in all locations.
func writeAzureSpotPrices(path string) error {
	src, err := openSource()
	if err != nil {
		return err
	}
	instances, err := src.readAzure()
	if err != nil {
		return err
	}
	table, err := encodeAzurePrices(src, instances, spotPrices())
	if err != nil {
		return err
	}
	return os.WriteFile(path, table, 0o644)
}

// azurePriceTable is which prices a table has.
type azurePriceTable struct {
	flag, title string
	price       func(azureInstance, *azurePrice) float64
}

func onDemandPrices() azurePriceTable {
	return azurePriceTable{"-azure-prices", "On-demand prices", func(_ azureInstance, p *azurePrice) float64 { return p.OnDemand }}
}

func spotPrices() azurePriceTable {
	return azurePriceTable{"-azure-spot", "Lowest spot prices", func(in azureInstance, p *azurePrice) float64 { return in.spot(p.Spot) }}
}

// readAzure decodes the data set of Azure.
func (s source) readAzure() ([]azureInstance, error) {
	data, err := os.ReadFile(filepath.Join(s.dir, "data", "azure-instances.json"))
	if err != nil {
		return nil, fmt.Errorf("reading the data set: %w", err)
	}
	var out []azureInstance
	if err := json.Unmarshal(data, &out); err != nil {
		return nil, fmt.Errorf("decoding the data set: %w", err)
	}
	return out, nil
}

// azureName is the name of a size without its tier; empty for sizes that are not used for nodes: those of another tier, and those with
// disabled vCPUs, several of which share one entry of the data set.
func azureName(in azureInstance) string {
	name := strings.TrimPrefix(in.Name, "Standard ")
	if strings.HasPrefix(name, "Basic ") || strings.Contains(name, "-") || strings.Contains(name, ",") {
		return ""
	}
	return strings.ReplaceAll(name, " ", "_")
}

// encodeAzurePrices writes a header with the origin of the data, the locations, then one size per line, sorted by name: for each location
// a price, or nothing if the size is not offered.
func encodeAzurePrices(src source, instances []azureInstance, table azurePriceTable) ([]byte, error) {
	names := azureLocations()
	prices := map[string]map[string]float64{} // by name, by location
	for _, in := range instances {
		name := azureName(in)
		if name == "" {
			continue
		}
		of := map[string]float64{}
		for region, p := range in.Pricing {
			location, ok := names[region]
			if !ok {
				return nil, fmt.Errorf("size %q has a price in %q, which is no known location", name, region)
			}
			if p.Linux == nil {
				continue
			}
			if price := table.price(in, p.Linux); price > 0 {
				of[location] = price
			}
		}
		if len(of) == 0 {
			continue
		}
		if prices[name] != nil {
			return nil, fmt.Errorf("size %q appears twice", name)
		}
		prices[name] = of
	}
	if len(prices) == 0 {
		return nil, fmt.Errorf("no size has a price")
	}
	locations := slices.Sorted(maps.Values(names))
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Written by tools/ec2catalog %s. DO NOT EDIT.\n# %s of Linux in USD an hour; nothing between two commas where a size is not offered.\n",
		table.flag, table.title)
	fmt.Fprintf(&b, "source,%s %s\ndate,%s\nlocations,%s\n", src.path, src.version, src.date, strings.Join(locations, ","))
	for _, name := range slices.Sorted(maps.Keys(prices)) {
		cells := []string{name}
		for _, location := range locations {
			cell := ""
			if price := prices[name][location]; price > 0 {
				cell = strconv.FormatFloat(price, 'f', -1, 64)
			}
			cells = append(cells, cell)
		}
		b.WriteString(strings.TrimRight(strings.Join(cells, ","), ",") + "\n")
	}
	return b.Bytes(), nil
}
