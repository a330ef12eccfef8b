package sku_test

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/cloud/azure/gpu"
	"github.com/karpenter-anew/karpenter/cloud/azure/size"
	"github.com/karpenter-anew/karpenter/cloud/azure/sku"
)

const location = "southcentralus"

// report is a SKU with what every node needs and some capabilities, in three zones.
func report(name string, capabilities map[string]string) sku.Report {
	all := map[string]string{"vCPUs": "4", "MemoryGB": "16", "CpuArchitectureType": "x64", "HyperVGenerations": "V1,V2"}
	maps.Copy(all, capabilities)
	return sku.Report{
		Name: "Standard_" + name, Size: name, Family: "family", Capabilities: all,
		Locations: []sku.Location{{Name: location, Zones: []string{"3", "1", "2"}}},
	}
}

// describe describes a SKU that can be an instance type.
func describe(t *testing.T, r sku.Report) sku.Description {
	t.Helper()
	got, excluded := sku.Describe(r, location)
	if excluded != "" {
		t.Fatalf("%s is excluded: %s", r.Name, excluded)
	}
	return got
}

func TestDescribe(t *testing.T) {
	got := describe(t, report("D4s_v3", map[string]string{
		"AcceleratedNetworkingEnabled": "True", "PremiumIO": "true", "EncryptionAtHostSupported": "TRUE", "LowPriorityCapable": "True", "UltraSSDAvailable": "True",
		"MemoryGB": "15.25",
	}))
	want := sku.Description{
		Name: "Standard_D4s_v3", Family: "family", Size: size.Size{Family: "D", VCPUs: 4, Features: "s", Version: "3"}, VCPUs: 4, MemoryGiB: 15.25, Architecture: "amd64",
		HyperVGenerations: []string{"1", "2"}, AcceleratedNetworking: true, PremiumStorage: true, EncryptionAtHost: true, TrustedLaunch: true, Spot: true, UltraSSD: true,
		Zones: []sku.Zone{{Name: "southcentralus-1"}, {Name: "southcentralus-2"}, {Name: "southcentralus-3"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestCapabilities(t *testing.T) {
	for what, test := range map[string]struct {
		capabilities map[string]string
		got          func(sku.Description) any
		want         any
	}{
		"arm64":                       {map[string]string{"CpuArchitectureType": "Arm64"}, func(d sku.Description) any { return d.Architecture }, "arm64"},
		"another architecture":        {map[string]string{"CpuArchitectureType": "RiscV"}, func(d sku.Description) any { return d.Architecture }, "RiscV"},
		"generation 2 only":           {map[string]string{"HyperVGenerations": "V2"}, func(d sku.Description) any { return len(d.HyperVGenerations) }, 1},
		"no generation":               {map[string]string{"HyperVGenerations": ""}, func(d sku.Description) any { return len(d.HyperVGenerations) }, 0},
		"generations with blanks":     {map[string]string{"HyperVGenerations": "v1, v2"}, func(d sku.Description) any { return len(d.HyperVGenerations) }, 2},
		"False is no":                 {map[string]string{"PremiumIO": "False"}, func(d sku.Description) any { return d.PremiumStorage }, false},
		"other texts are no":          {map[string]string{"PremiumIO": "1"}, func(d sku.Description) any { return d.PremiumStorage }, false},
		"trusted launch":              {nil, func(d sku.Description) any { return d.TrustedLaunch }, true},
		"trusted launch off":          {map[string]string{"TrustedLaunchDisabled": "True"}, func(d sku.Description) any { return d.TrustedLaunch }, false},
		"trusted launch not off":      {map[string]string{"TrustedLaunchDisabled": "False"}, func(d sku.Description) any { return d.TrustedLaunch }, true},
		"trusted launch generation 1": {map[string]string{"HyperVGenerations": "V1"}, func(d sku.Description) any { return d.TrustedLaunch }, false},
		"negative GPUs":               {map[string]string{"GPUs": "-1"}, func(d sku.Description) any { return d.GPUs }, int64(0)},
	} {
		if got := test.got(describe(t, report("D4s_v3", test.capabilities))); got != test.want {
			t.Errorf("%s: got %v, want %v", what, got, test.want)
		}
	}
}

func TestGPUs(t *testing.T) {
	t.Attr("covers", "Z193")
	for name, want := range map[string]struct {
		manufacturer, accelerator string
		count                     string
		gpus                      int64
	}{
		"NC16as_T4_v3":                {gpu.NVIDIA, "T4", "1", 1},
		"ND96isr_MI300X_v5":           {gpu.AMD, "", "8", 8},
		"NC6s_v3":                     {gpu.NVIDIA, "", "1", 1},
		"NV4ads_V710_v5":              {gpu.AMD, "V710", "", 0},
		"D4s_v3":                      {"", "", "", 0},
		"ND128isr_GB300_v6":           {gpu.NVIDIA, "GB300", "4", 4},
		"NV12s_v3":                    {gpu.NVIDIA, "", "1", 1},
		"NC80adis_H100_v5":            {gpu.NVIDIA, "H100", "2", 2},
		"NV36adms_A10_v5":             {gpu.NVIDIA, "A10", "1", 1},
		"NC6_Promo":                   {gpu.NVIDIA, "", "1", 1},
		"NC24lds_xl_RTXPRO6000BSE_v6": {gpu.NVIDIA, "RTXPRO6000BSE", "1", 1},
	} {
		got := describe(t, report(name, map[string]string{"GPUs": want.count}))
		if got.GPU.Manufacturer != want.manufacturer || got.Size.Accelerator != want.accelerator || got.GPUs != want.gpus {
			t.Errorf("%s: got %d of %q, %q; want %+v", name, got.GPUs, got.GPU.Manufacturer, got.Size.Accelerator, want)
		}
	}
}

func TestExclusions(t *testing.T) {
	t.Attr("covers", "Z049 Z191")
	everywhere := func(r sku.Report, x ...sku.Restriction) sku.Report {
		r.Restrictions = x
		return r
	}
	for _, test := range []struct {
		what   string
		report sku.Report
		want   sku.Exclusion
	}{
		{"a size that AKS refuses", report("B1s", nil), sku.Refused},
		{"another one", report("E64is_v3", nil), sku.Refused},
		{"the basic tier", sku.Report{Name: "Basic_A0", Size: "A0"}, sku.Refused},
		{"a version of two digits", report("D96s_v10", nil), sku.Unparsable},
		{"two accelerators", report("ND128isr_NDR_GB200_v6", nil), sku.Unparsable},
		{"lower case", report("ND96is_noIB_H100_v5", nil), sku.Unparsable},
		{"no architecture", report("D4s_v3", map[string]string{"CpuArchitectureType": ""}), sku.NoArchitecture},
		{"one vCPU", report("D4s_v3", map[string]string{"vCPUs": "1"}), sku.TooSmall},
		{"no vCPUs", report("D4s_v3", map[string]string{"vCPUs": ""}), sku.TooSmall},
		{"malformed vCPUs", report("D4s_v3", map[string]string{"vCPUs": "four"}), sku.TooSmall},
		{"little memory", report("D4s_v3", map[string]string{"MemoryGB": "3.4"}), sku.TooSmall},
		{"no memory", report("D4s_v3", map[string]string{"MemoryGB": ""}), sku.TooSmall},
		{"memory that is no number", report("D4s_v3", map[string]string{"MemoryGB": "NaN"}), sku.TooSmall},
		{"endless memory", report("D4s_v3", map[string]string{"MemoryGB": "Inf"}), sku.TooSmall},
		{"an unknown GPU", report("NG32adms_V620_v1", map[string]string{"GPUs": "1"}), sku.UnknownGPU},
		{"disabled vCPUs", report("M8-2ms", nil), sku.Constrained},
		{"confidential computing", report("DC8s_v3", nil), sku.Confidential},
		{"confidential computing, series E", report("EC4as_v5", nil), sku.Confidential},
		{"a restricted location", everywhere(report("D4s_v3", nil), sku.Restriction{Type: sku.RestrictsLocation, Locations: []string{"South Central US"}}), sku.NotInLocation},
		{"another location", everywhere(report("D4s_v3", nil), sku.Restriction{Type: sku.RestrictsLocation, Locations: []string{"eastus"}}), ""},
		{"3.5 GiB and 2 vCPUs", report("D4s_v3", map[string]string{"vCPUs": "2", "MemoryGB": "3.5"}), ""},
		{"series D with feature c", report("D4cs_v3", nil), ""},
	} {
		got, excluded := sku.Describe(test.report, location)
		if excluded != test.want || excluded != "" && got.Name != "" {
			t.Errorf("%s: got %+v, %q, want %q", test.what, got, excluded, test.want)
		}
		if unexpected := test.want == sku.Unparsable || test.want == sku.NoArchitecture; excluded.Unexpected() != unexpected {
			t.Errorf("%s: unexpected is %v", test.what, !unexpected)
		}
	}
}

func TestZones(t *testing.T) {
	t.Attr("covers", "Z050 Z194")
	restricted := func(locations []string, numbers ...string) sku.Restriction {
		return sku.Restriction{Type: sku.RestrictsZone, Locations: locations, Zones: numbers}
	}
	here := []string{location}
	zonal := report("D4s_v3", nil)
	for _, test := range []struct {
		what   string
		change func(*sku.Report)
		want   []sku.Zone
	}{
		{"no restriction", func(*sku.Report) {}, []sku.Zone{{Name: "southcentralus-1"}, {Name: "southcentralus-2"}, {Name: "southcentralus-3"}}},
		{"one zone restricted", func(r *sku.Report) { r.Restrictions = []sku.Restriction{restricted(here, "2")} }, []sku.Zone{{Name: "southcentralus-1"}, {Name: "southcentralus-3"}}},
		{"all zones restricted", func(r *sku.Report) {
			r.Restrictions = []sku.Restriction{restricted(here, "1", "2"), restricted([]string{"eastus", "South Central US"}, "3")}
		}, []sku.Zone{}},
		{
			"zones of another location restricted", func(r *sku.Report) { r.Restrictions = []sku.Restriction{restricted([]string{"eastus"}, "1", "2", "3")} },
			[]sku.Zone{{Name: "southcentralus-1"}, {Name: "southcentralus-2"}, {Name: "southcentralus-3"}},
		},
		{"no zones", func(r *sku.Report) { r.Locations = []sku.Location{{Name: location}} }, []sku.Zone{}},
		{"no location", func(r *sku.Report) { r.Locations = nil }, []sku.Zone{}},
		{"another location", func(r *sku.Report) { r.Locations = []sku.Location{{Name: "eastus", Zones: []string{"1"}}} }, []sku.Zone{}},
		{"a name with blanks and ten zones", func(r *sku.Report) {
			r.Locations = []sku.Location{{Name: "South Central US", Zones: []string{"10", "9"}}}
		}, []sku.Zone{{Name: "southcentralus-9"}, {Name: "southcentralus-10"}}},
		{"ultra disks in two zones", func(r *sku.Report) {
			r.Locations = []sku.Location{{Name: location, Zones: []string{"1", "2", "3"}, ZoneDetails: []sku.ZoneDetail{
				{Zones: []string{"1", "3"}, Capabilities: map[string]string{"UltraSSDAvailable": "True"}}, {Zones: []string{"2", "3"}, Capabilities: map[string]string{"UltraSSDAvailable": "False"}},
			}}}
		}, []sku.Zone{{Name: "southcentralus-1", UltraSSD: true}, {Name: "southcentralus-2"}, {Name: "southcentralus-3", UltraSSD: true}}},
	} {
		r := zonal
		test.change(&r)
		if diff := cmp.Diff(test.want, describe(t, r).Zones); diff != "" {
			t.Errorf("%s (-want +got)\n%s", test.what, diff)
		}
	}
}

// TestEphemeralDisk holds local disks against the conformance vectors.
func TestEphemeralDisk(t *testing.T) {
	t.Attr("covers", "Z056 Z197")
	type capabilities = map[string]string
	for _, test := range []struct {
		what         string
		capabilities capabilities
		want         sku.EphemeralDisk
		holds        int64 // the largest disk that fits
	}{
		{"D128ds_v6", capabilities{"NvmeDiskSizeInMiB": "7208960", "SupportedEphemeralOSDiskPlacements": "ResourceDisk,NvmeDisk", "MaxResourceVolumeMB": "7208960"}, sku.EphemeralDisk{SizeGB: 7559, Placement: "NvmeDisk"}, 7559},
		{"D16plds_v5", capabilities{"CachedDiskBytes": "429496729600", "MaxResourceVolumeMB": "614400"}, sku.EphemeralDisk{SizeGB: 429, Placement: "CacheDisk"}, 429},
		{"D2s_v3", capabilities{"CachedDiskBytes": "53687091200"}, sku.EphemeralDisk{SizeGB: 53, Placement: "CacheDisk"}, 53},
		{"E4d_v5", capabilities{"CachedDiskBytes": "0", "MaxResourceVolumeMB": "153600"}, sku.EphemeralDisk{SizeGB: 161, Placement: "ResourceDisk"}, 161},
		{"NVMe that is not listed", capabilities{"NvmeDiskSizeInMiB": "915000", "CachedDiskBytes": "274877906944"}, sku.EphemeralDisk{SizeGB: 274, Placement: "CacheDisk"}, 274},
		{"NVMe that is listed", capabilities{"NvmeDiskSizeInMiB": "915000", "CachedDiskBytes": "274877906944", "SupportedEphemeralOSDiskPlacements": "nvmedisk"}, sku.EphemeralDisk{SizeGB: 959, Placement: "NvmeDisk"}, 959},
		{"a small cache disk is final", capabilities{"CachedDiskBytes": "32212254720", "MaxResourceVolumeMB": "163840"}, sku.EphemeralDisk{SizeGB: 32, Placement: "CacheDisk"}, 32},
		{"no disk", capabilities{"MaxResourceVolumeMB": "0"}, sku.EphemeralDisk{}, -1},
		{"not supported", capabilities{"EphemeralOSDiskSupported": "False", "CachedDiskBytes": "53687091200"}, sku.EphemeralDisk{}, -1},
		{"an impossible size", capabilities{"NvmeDiskSizeInMiB": "9223372036854775807", "SupportedEphemeralOSDiskPlacements": "NvmeDisk"}, sku.EphemeralDisk{}, -1},
	} {
		all := capabilities{"EphemeralOSDiskSupported": "True"}
		maps.Copy(all, test.capabilities)
		got := describe(t, report("D4s_v3", all)).Disk
		if got != test.want || test.holds >= 0 && !got.Holds(test.holds) || got.Holds(test.holds+1) {
			t.Errorf("%s: got %+v, want %+v, which holds %d", test.what, got, test.want, test.holds)
		}
	}
}

// FuzzDescribe checks that nothing that Azure reports makes a description that scheduling could not use.
func FuzzDescribe(f *testing.F) {
	f.Add("D4s_v3", "4", "16", "x64", "1", "53687091200", "7208960", "2")
	f.Add("NC6s_v3", "6", "112", "x64", "1", "-1", "9223372036854775807", "")
	f.Fuzz(func(t *testing.T, name, vcpus, memory, arch, gpus, cache, nvme, number string) {
		r := report(name, map[string]string{
			"vCPUs": vcpus, "MemoryGB": memory, "CpuArchitectureType": arch, "GPUs": gpus, "CachedDiskBytes": cache, "NvmeDiskSizeInMiB": nvme,
			"EphemeralOSDiskSupported": "True", "SupportedEphemeralOSDiskPlacements": "NvmeDisk",
		})
		r.Locations[0].Zones = []string{number}
		d, excluded := sku.Describe(r, location)
		if excluded != "" {
			return
		}
		if d.VCPUs < 2 || !(d.MemoryGiB >= 3.5 && d.MemoryGiB < 1<<33) || d.GPUs < 0 || d.Disk.SizeGB < 0 || d.Architecture == "" || d.Size.Family == "" || d.GPUs > 0 && d.GPU.Manufacturer == "" {
			t.Errorf("described as %+v", d)
		}
	})
}
