package azuretest

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Size is a SKU of virtual machines that the account has.
type Size struct {
	// Name is for instance Standard_D4s_v3; Family is the name of its quota.
	Name, Family string
	// VCPUs and MemoryGiB are those of a virtual machine.
	VCPUs, MemoryGiB int
	// CacheGiB is the cache that can hold the operating system.
	CacheGiB int
	// Architecture is x64 or Arm64.
	Architecture string
	// Zones are where it is.
	Zones []string
	// Price is that of an hour in US dollars; spot costs a fifth.
	Price float64
}

// Sizes are the SKUs of an account that names no others.
func Sizes() []Size {
	all := []string{"1", "2", "3"}
	return []Size{
		{"Standard_D2s_v3", "standardDSv3Family", 2, 8, 50, "x64", all, 0.096},
		{"Standard_D4s_v3", "standardDSv3Family", 4, 16, 100, "x64", all, 0.192},
		{"Standard_D8s_v3", "standardDSv3Family", 8, 32, 200, "x64", all, 0.384},
		{"Standard_D64s_v3", "standardDSv3Family", 64, 256, 1600, "x64", all, 3.072},
		{"Standard_F4s_v2", "standardFSv2Family", 4, 8, 64, "x64", all, 0.169},
		{"Standard_E4s_v5", "standardESv5Family", 4, 32, 0, "x64", []string{"1", "2"}, 0.252},
		{"Standard_D4ps_v5", "standardDPSv5Family", 4, 16, 0, "Arm64", []string{"1", "2", "3"}, 0.154},
		{"Standard_B2s", "standardBSFamily", 2, 4, 30, "x64", nil, 0.0416},
	}
}

// ManySizes are the SKUs of Sizes and of more families, as a location has them: launches for which some have no capacity have others.
func ManySizes() []Size {
	out := Sizes()
	for _, f := range []struct {
		// name is that of sizes, with %d for the vCPUs.
		name, family string
		memory       int     // in GiB for each vCPU
		price        float64 // of a vCPU
		cache        int     // in GiB for each vCPU
	}{
		{"Standard_D%ds_v4", "standardDSv4Family", 4, 0.048, 25},
		{"Standard_D%ds_v5", "standardDSv5Family", 4, 0.048, 0},
		{"Standard_D%das_v4", "standardDASv4Family", 4, 0.048, 25},
		{"Standard_D%das_v5", "standardDASv5Family", 4, 0.043, 0},
		{"Standard_D%dds_v4", "standardDDSv4Family", 4, 0.0565, 25},
		{"Standard_D%dds_v5", "standardDDSv5Family", 4, 0.0565, 0},
		{"Standard_D%dads_v5", "standardDADSv5Family", 4, 0.0515, 0},
		{"Standard_D%dls_v5", "standardDLSv5Family", 2, 0.0425, 0},
		{"Standard_D%dlds_v5", "standardDLDSv5Family", 2, 0.048, 0},
		{"Standard_D%ds_v6", "StandardDsv6Family", 4, 0.0505, 0},
		{"Standard_D%dds_v6", "StandardDdsv6Family", 4, 0.0625, 0},
		{"Standard_D%das_v6", "StandardDasv6Family", 4, 0.0454, 0},
		{"Standard_D%dads_v6", "StandardDadsv6Family", 4, 0.057, 0},
		{"Standard_D%dls_v6", "StandardDlsv6Family", 2, 0.04465, 0},
		{"Standard_D%dals_v6", "StandardDalsv6Family", 2, 0.0402, 0},
		{"Standard_D%dalds_v6", "StandardDaldsv6Family", 2, 0.0476, 0},
		{"Standard_E%ds_v4", "standardESv4Family", 8, 0.063, 25},
		{"Standard_E%das_v5", "standardEASv5Family", 8, 0.0565, 0},
	} {
		for _, vCPUs := range []int{2, 4, 8, 16} {
			out = append(out, Size{
				fmt.Sprintf(f.name, vCPUs), f.family, vCPUs, f.memory * vCPUs, f.cache * vCPUs, "x64", []string{"1", "2", "3"}, f.price * float64(vCPUs),
			})
		}
	}
	return out
}

// sizeOf is a SKU of the account by its name.
func (a *Account) sizeOf(name string) (Size, bool) {
	i := slices.IndexFunc(a.sizes, func(s Size) bool { return strings.EqualFold(s.Name, name) })
	if i < 0 {
		return Size{}, false
	}
	return a.sizes[i], true
}

// listSKUs lists the SKUs of the location.
func listSKUs(a *Account, r *request) (*response, error) {
	if filter := r.http.URL.Query().Get("$filter"); filter != "" && filter != "location eq '"+a.location+"'" {
		if !strings.HasPrefix(filter, "location eq '") {
			return nil, refuse(http.StatusBadRequest, "InvalidFilterInQueryString", "Invalid $filter '%s' specified in the query string.", filter)
		}
		return a.page(r, []map[string]any{}), nil
	}
	items := []map[string]any{{"resourceType": "disks", "name": "Premium_LRS", "tier": "Premium", "locations": []string{a.location}}}
	for _, s := range a.sizes {
		items = append(items, a.sku(s))
	}
	return a.page(r, items), nil
}

// sku is a size as ARM shows it.
func (a *Account) sku(s Size) map[string]any {
	var capabilities []map[string]any
	add := func(name, value string) {
		capabilities = append(capabilities, map[string]any{"name": name, "value": value})
	}
	add("vCPUs", strconv.Itoa(s.VCPUs))
	add("vCPUsAvailable", strconv.Itoa(s.VCPUs))
	add("MemoryGB", strconv.Itoa(s.MemoryGiB))
	add("CpuArchitectureType", s.Architecture)
	add("HyperVGenerations", "V1,V2")
	add("AcceleratedNetworkingEnabled", "True")
	add("PremiumIO", "True")
	add("EncryptionAtHostSupported", "True")
	add("LowPriorityCapable", "True")
	add("MaxDataDiskCount", strconv.Itoa(2*s.VCPUs))
	add("EphemeralOSDiskSupported", map[bool]string{true: "True", false: "False"}[s.CacheGiB > 0])
	if s.CacheGiB > 0 {
		add("CachedDiskBytes", strconv.Itoa(s.CacheGiB<<30))
	}
	tier, size, _ := strings.Cut(s.Name, "_")
	return map[string]any{
		"resourceType": "virtualMachines", "name": s.Name, "tier": tier, "size": size, "family": s.Family, "locations": []string{a.location},
		"locationInfo": []map[string]any{{"location": a.location, "zones": s.Zones, "zoneDetails": []any{}}},
		"capabilities": capabilities, "restrictions": []any{},
	}
}
