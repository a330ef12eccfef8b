package offline

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/azure/label"
	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/instancetype"
	"github.com/karpenter-anew/karpenter/cloud/azure/price"
)

// class is a class as it is written in a file.
func class(change ...func(*v1beta1.AKSNodeClass)) *v1beta1.AKSNodeClass {
	out := &v1beta1.AKSNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	for _, c := range change {
		c(out)
	}
	return out
}

// open opens a location for classes.
func open(t *testing.T, location string, classes ...*v1beta1.AKSNodeClass) *Provider {
	t.Helper()
	p, err := New(Options{
		Catalog: "azure/" + location, VMMemoryOverheadPercent: 0.075, Network: instancetype.Network{Plugin: instancetype.PluginAzure, Mode: instancetype.ModeOverlay},
	}, classes)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// list lists the instance types of a class named default, by name without the tier.
func list(t *testing.T, p *Provider) map[string]*cloud.InstanceType {
	t.Helper()
	pool := &v1.NodePool{}
	pool.Spec.Template.Spec.NodeClassRef = &v1.NodeClassReference{Group: v1beta1.Group, Kind: "AKSNodeClass", Name: "default"}
	all, err := p.InstanceTypes(t.Context(), pool)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*cloud.InstanceType{}
	for _, it := range all {
		name, ok := strings.CutPrefix(it.Name, "Standard_")
		if !ok || out[name] != nil {
			t.Errorf("%s is there twice, or has another tier", it.Name)
		}
		out[name] = it
	}
	return out
}

// values are the values of labels of a type, by their short names, in a line.
func values(it *cloud.InstanceType, keys ...string) string {
	set := cloud.Requirements(it.Requirements, label.Rules())
	var out []string
	for _, key := range keys {
		out = append(out, cmp.Or(strings.Join(slices.Sorted(slices.Values(set.Get(key).Values())), "+"), "-"))
	}
	return strings.Join(out, " ")
}

// TestSizesHaveTheLabelsOfAzure compares with the conformance vectors, but for the zones, which the tables do not have. Where the table has no
// cache, or only a name, the result differs; the vectors have what is in parentheses.
func TestSizesHaveTheLabelsOfAzure(t *testing.T) {
	types := list(t, open(t, "southcentralus", class()))
	keys := []string{
		label.SKUSeries, label.SKUVersion, label.SKUCPU, label.SKUMemory, corev1.LabelArchStable, label.SKUHyperVGeneration, label.SKUPremiumStorage,
		label.SKUAcceleratedNetwork, v1.CapacityTypeLabelKey, label.SKUUltraSSD, label.SKUEphemeralOSDiskMax, label.SKUGPUCount, label.SKUGPUName, label.SKUGPUManufacturer,
	}
	const both = " on-demand+spot "
	for name, want := range map[string]string{
		"B20ms":           "Bms 1 20 81920 amd64 1+2 true true on-demand false+true 171 0 - -", // (32)
		"D128ds_v6":       "Dds_v6 6 128 524288 amd64 2 true true" + both + "false 7559 0 - -",
		"D16plds_v5":      "Dplds_v5 5 16 32768 arm64 2 true true" + both + "false 429 0 - -",
		"D2as_v6":         "Das_v6 6 2 8192 amd64 2 true true" + both + "false - 0 - -", // (false+true)
		"D2s_v3":          "Ds_v3 3 2 8192 amd64 1+2 true true" + both + "false+true 53 0 - -",
		"D64s_v3":         "Ds_v3 3 64 262144 amd64 1+2 true true" + both + "false+true 1717 0 - -",
		"D2_v2":           "D_v2 2 2 7168 amd64 1 false true" + both + "false - 0 - -",
		"D2_v3":           "D_v3 3 2 8192 amd64 1 false true" + both + "false - 0 - -",
		"D2_v5":           "D_v5 5 2 8192 amd64 1+2 false true" + both + "false+true - 0 - -",
		"DS2_v2":          "DS_v2 2 2 7168 amd64 1+2 true true" + both + "false 92 0 - -",
		"E4d_v5":          "Ed_v5 5 4 32768 amd64 1+2 false true" + both + "false+true 161 0 - -",
		"F16s_v2":         "Fs_v2 2 16 32768 amd64 1+2 true true" + both + "false+true 274 0 - -",
		"NC16as_T4_v3":    "NCas_v3 3 16 112640 amd64 1+2 true false" + both + "false 386 1 T4 nvidia", // (true, false+true, 154)
		"NC24ads_A100_v4": "NCads_v4 4 24 225280 amd64 2 true true" + both + "false 274 1 A100 nvidia",
		"NC6s_v3":         "-", // retired
	} {
		if types[name] == nil {
			if want != "-" {
				t.Errorf("there is no %s", name)
			}
			continue
		}
		if got := values(types[name], keys...); got != want {
			t.Errorf("%s has\n%s, want\n%s", name, got, want)
		}
	}
	for name, cpu := range map[string]string{"D2s_v3": "1900m", "D128ds_v6": "126620m", "NC24ads_A100_v4": "23660m"} {
		if free := types[name].Allocatable(); free.Cpu().String() != cpu || free.Pods().Value() != 250 {
			t.Errorf("%s has %s of cpu and %s pods to offer, want %s and 250", name, free.Cpu(), free.Pods(), cpu)
		}
	}
	if got := types["NV4ads_V710_v5"]; got != nil {
		t.Error("a class that installs drivers gets GPUs of AMD")
	}
}

// TestFeaturesThatAreDerived checks what names say, for sizes that the table does not describe.
func TestFeaturesThatAreDerived(t *testing.T) {
	for name, want := range map[string]string{
		"D2as_v6":      "x64 V2 accelerated-networking,premium-io,encryption-at-host,spot",
		"D2ps_v6":      "Arm64 V2 accelerated-networking,premium-io,encryption-at-host,spot",
		"D2d_v6":       "x64 V2 accelerated-networking,encryption-at-host,spot",
		"D2ls_v5":      "x64 V1,V2 accelerated-networking,premium-io,encryption-at-host,spot",
		"E96ns_v4":     "x64 V1,V2 accelerated-networking,premium-io,spot",
		"NC16as_T4_v3": "x64 V1,V2 premium-io,spot",
		"DS15i_v2":     "x64 V1,V2 premium-io,spot",
		"D15i_v2":      "x64 V1,V2 spot",
		"B2ps_v2":      "Arm64 V2 premium-io",
	} {
		h := hardware{name: name, vCPUs: 4, memoryGiB: 16}
		report, derived := h.describe("eastus", nil)
		var features []string
		for _, f := range [][2]string{
			{"AcceleratedNetworkingEnabled", featureNetworking},
			{"PremiumIO", featurePremium},
			{"EncryptionAtHostSupported", featureEncryption},
			{"UltraSSDAvailable", featureUltraSSD},
			{"LowPriorityCapable", featureSpot},
		} {
			if report.Capabilities[f[0]] == "true" {
				features = append(features, f[1])
			}
		}
		if got := report.Capabilities["CpuArchitectureType"] + " " + report.Capabilities["HyperVGenerations"] + " " + strings.Join(features, ","); got != want || !derived {
			t.Errorf("%s is derived (%t) to have\n%s, want\n%s", name, derived, got, want)
		}
	}
	described := hardware{name: "D2as_v6", described: true, architecture: "x64", hyperV: "V1"}
	if report, derived := described.describe("eastus", nil); derived || report.Capabilities["PremiumIO"] != "false" {
		t.Errorf("the name counts for a size that is described: %v", report.Capabilities)
	}
}

func TestLocalDisks(t *testing.T) {
	for _, test := range []struct {
		h    hardware
		want string
	}{
		{hardware{name: "D4s_v3", features: []string{featurePremium}, cacheGiB: 100, temporaryGiB: 32}, "100 GiB of cache"},
		{hardware{name: "D4s_v4", features: []string{featurePremium}, cacheGiB: 100}, "none"},
		{hardware{name: "D4_v3", temporaryGiB: 100}, "none"},
		{hardware{name: "E4d_v5", temporaryGiB: 150}, "150 GiB of temporary disk"},
		{hardware{name: "D4ds_v6", features: []string{featurePremium}, temporaryGiB: 220, cacheGiB: 1}, "220 GiB of NVMe"},
	} {
		test.h.described, test.h.architecture, test.h.hyperV = true, "x64", "V2"
		c, _ := test.h.describe("eastus", nil)
		got := "none"
		switch has := c.Capabilities; {
		case has["EphemeralOSDiskSupported"] != "True":
		case has["NvmeDiskSizeInMiB"] == "225280" && has["SupportedEphemeralOSDiskPlacements"] == "NvmeDisk":
			got = "220 GiB of NVMe"
		case has["CachedDiskBytes"] == "107374182400":
			got = "100 GiB of cache"
		case has["MaxResourceVolumeMB"] == "153600":
			got = "150 GiB of temporary disk"
		}
		if got != test.want {
			t.Errorf("%s has %s, want %s: %v", test.h.name, got, test.want, c.Capabilities)
		}
	}
}

func TestCatalogsCanBeUsed(t *testing.T) {
	if len(Catalogs()) < 40 || !slices.IsSorted(Catalogs()) {
		t.Errorf("catalogs %v", Catalogs())
	}
	for i, catalog := range Catalogs() {
		if i%7 > 0 && catalog != "azure/eastus" { // all of them take too long
			continue
		}
		location := strings.TrimPrefix(catalog, "azure/")
		p := open(t, location, class(func(c *v1beta1.AKSNodeClass) { c.Spec.GPU = &v1beta1.GPU{Mode: v1beta1.GPUModeNone} }))
		if len(p.skus) < 100 || len(p.derived) == 0 || len(p.derived) >= len(p.skus) {
			t.Errorf("%s has %d sizes, %d of them derived", location, len(p.skus), len(p.derived))
		}
		types := list(t, p)
		for name, it := range types {
			for _, o := range it.Offerings {
				if zone := o.Zone(); zone != "0" && !strings.HasPrefix(zone, location+"-") {
					t.Errorf("%s: %s is in zone %s", location, name, zone)
				}
				if o.Available && (o.Price <= 0 || o.Price >= instancetype.UnknownPrice) {
					t.Errorf("%s: %s costs %g", location, name, o.Price)
				}
			}
		}
		for _, name := range p.derived {
			if got := values(types[strings.TrimPrefix(name, "Standard_")], label.SKUUltraSSD); got != "false" {
				t.Errorf("%s: ultra disks of %s are derived: %s", location, name, got)
			}
		}
	}
	for _, name := range []string{"generic", "azure/nowhere", "azure/", "azure/EastUS", ""} {
		if _, err := New(Options{Catalog: name}, nil); err == nil || !strings.Contains(err.Error(), "azure/westeurope") {
			t.Errorf("catalog %q: %v", name, err)
		}
	}
}

func TestZonesAndPrices(t *testing.T) {
	offered := func(location, name string) string {
		var out []string
		for _, o := range list(t, open(t, location, class()))[name].Offerings {
			if o.Available {
				out = append(out, o.Zone()+" "+o.CapacityType()[:2])
			}
		}
		return strings.Join(out, ", ")
	}
	for at, want := range map[string]string{
		"eastus D4s_v3": "eastus-1 on, eastus-1 sp, eastus-2 on, eastus-2 sp, eastus-3 on, eastus-3 sp, 0 on, 0 sp",
		"westus D4s_v3": "0 on, 0 sp", "westus B4ms": "0 on",
	} {
		location, name, _ := strings.Cut(at, " ")
		if got := offered(location, name); got != want {
			t.Errorf("%s is offered as %s, want %s", at, got, want)
		}
	}
	for _, o := range list(t, open(t, "westeurope", class()))["D4s_v3"].Offerings {
		if spot := o.CapacityType() == v1.CapacityTypeSpot; spot != (o.Price < 0.24) || !spot && o.Price != 0.24 {
			t.Errorf("%s costs %g", o.CapacityType(), o.Price)
		}
	}
}

// TestSizesHaveAPrice checks that every size that the table of hardware has costs something somewhere. The price list never had the exceptions.
func TestSizesHaveAPrice(t *testing.T) {
	t.Attr("covers", "Z074")
	never := []string{"EC128ieds_v5", "EC128ies_v5", "ND128isr_GB300_v6", "NG32adms_V620_v1"}
	known, err := parseTable(hardwareText)
	if err != nil {
		t.Fatal(err)
	}
	var lists []*price.List
	for _, location := range price.Locations() {
		lists = append(lists, price.New(price.TableFor(location).Prices))
	}
	for _, size := range known.sizes {
		priced := slices.ContainsFunc(lists, func(l *price.List) bool { _, ok := l.OnDemand("Standard_" + size.name); return ok })
		if !priced && !slices.Contains(never, size.name) {
			t.Errorf("%s has no price in any location", size.name)
		}
	}
	if len(known.sizes) < 500 || len(lists) < 40 {
		t.Errorf("%d sizes and %d locations", len(known.sizes), len(lists))
	}
}

// TestUltraDisksAreInAllZones checks that the feature counts for zones and for regional placement.
func TestUltraDisksAreInAllZones(t *testing.T) {
	types := list(t, open(t, "eastus", class()))
	for name, want := range map[string]string{"D4s_v3": "true", "D4s_v6": "false", "D4_v3": "false"} {
		for _, o := range types[name].Offerings {
			at := slices.IndexFunc(o.Requirements, func(r v1.NodeSelectorRequirementWithMinValues) bool { return r.Key == label.SKUUltraSSD })
			if got := slices.Max(o.Requirements[at].Values); got != want {
				t.Errorf("%s in %s can have ultra disks: %s, want %s", name, o.Zone(), got, want)
			}
		}
	}
}

// TestSpotNeedsAPrice checks that spot virtual machines without a price are not launched.
func TestSpotNeedsAPrice(t *testing.T) {
	p := open(t, "eastus", class())
	p.prices.spot = price.New(map[string]float64{"D4s_v3": 0.1})
	types := list(t, p)
	for name, want := range map[string]string{"D4s_v3": "on-demand+spot", "D8s_v3": "on-demand"} {
		if got := values(types[name], v1.CapacityTypeLabelKey); got != want {
			t.Errorf("%s is offered as %s, want %s", name, got, want)
		}
	}
}

// TestClassesRestrictSizes has the conformance vectors of filters, for sizes that the price list has.
func TestClassesRestrictSizes(t *testing.T) {
	yes := true
	for what, test := range map[string]struct {
		change func(*v1beta1.AKSNodeClass)
		want   string
	}{
		"defaults": {func(*v1beta1.AKSNodeClass) {}, "D2s_v3 D2_v2 D2_v5 D16plds_v5 D2as_v6 NC24ads_A100_v4"},
		"no drivers": {
			func(c *v1beta1.AKSNodeClass) { c.Spec.GPU = &v1beta1.GPU{Mode: v1beta1.GPUModeNone} },
			"D2s_v3 D2_v2 D2_v5 D16plds_v5 D2as_v6 NC24ads_A100_v4 NV4ads_V710_v5",
		},
		"encryption at host": {
			func(c *v1beta1.AKSNodeClass) { c.Spec.Security = &v1beta1.Security{EncryptionAtHost: &yes} },
			"D2s_v3 D2_v5 D16plds_v5 D2as_v6 NC24ads_A100_v4",
		},
		"Trusted Launch": {func(c *v1beta1.AKSNodeClass) {
			c.Spec.Security = &v1beta1.Security{TrustedLaunch: &v1beta1.TrustedLaunch{VTPM: &yes}}
		}, "D2s_v3 D2_v5 D2as_v6 NC24ads_A100_v4"},
		"artifact streaming": {
			func(c *v1beta1.AKSNodeClass) { c.Spec.ArtifactStreaming = &v1beta1.ArtifactStreaming{Enabled: &yes} },
			"D2s_v3 D2_v2 D2_v5 D2as_v6 NC24ads_A100_v4",
		},
	} {
		types := list(t, open(t, "eastus", class(test.change)))
		var got []string
		for _, name := range []string{"D2s_v3", "D2_v2", "D2_v5", "D16plds_v5", "D2as_v6", "NC24ads_A100_v4", "NV4ads_V710_v5"} {
			if types[name] != nil {
				got = append(got, name)
			}
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: %v, want %s", what, got, test.want)
		}
	}
}

func TestClassesGetAStatus(t *testing.T) {
	dns := func(mode v1beta1.LocalDNSMode) func(*v1beta1.AKSNodeClass) {
		return func(c *v1beta1.AKSNodeClass) { c.Spec.LocalDNS = &v1beta1.LocalDNS{Mode: mode} }
	}
	conditioned := func(status metav1.ConditionStatus, more ...metav1.Condition) func(*v1beta1.AKSNodeClass) {
		return func(c *v1beta1.AKSNodeClass) {
			c.Status.Conditions = append(more, metav1.Condition{Type: v1beta1.ConditionTypeReady, Status: status, Reason: "AsItWas"})
		}
	}
	for name, test := range map[string]struct {
		class      *v1beta1.AKSNodeClass
		ready      metav1.ConditionStatus
		conditions int
		dns        v1beta1.LocalDNSState
	}{
		"plain":             {class(), "True", 6, "Disabled"},
		"requires LocalDNS": {class(dns(v1beta1.LocalDNSModeRequired)), "True", 6, "Enabled"},
		"prefers LocalDNS":  {class(dns(v1beta1.LocalDNSModePreferred)), "True", 6, "Disabled"},
		"assumed":           {class(conditioned("True")), "True", 6, "Disabled"},
		"of a cluster":      {class(conditioned("True", metav1.Condition{Type: v1beta1.ConditionTypeImagesReady, Status: "True"})), "True", 2, ""},
		"not ready":         {class(conditioned("False")), "False", 1, ""},
	} {
		open(t, "eastus", test.class)
		have := test.class.Status
		if ready := condition.Status(test.class, v1beta1.ConditionTypeReady); ready != test.ready || len(have.Conditions) != test.conditions || have.LocalDNSState != test.dns {
			t.Errorf("%s: ready %s, LocalDNS %q, conditions %+v", name, ready, have.LocalDNSState, have.Conditions)
		}
		for _, c := range have.Conditions {
			if !c.LastTransitionTime.Equal(&metav1.Time{}) {
				t.Errorf("%s: condition %s depends on the hour: %v", name, c.Type, c.LastTransitionTime)
			}
		}
	}
	if got := list(t, open(t, "eastus", class(dns(v1beta1.LocalDNSModeRequired)))); got["D2s_v3"] != nil || got["D4s_v3"] == nil {
		t.Error("LocalDNS needs four vCPUs")
	}
}

// TestClassesThatHaveNoTypes covers pools whose class is not there or is being deleted.
func TestClassesThatHaveNoTypes(t *testing.T) {
	going := class(func(c *v1beta1.AKSNodeClass) { c.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} })
	for what, classes := range map[string][]*v1beta1.AKSNodeClass{"none": nil, "deleted": {going}} {
		if got := list(t, open(t, "eastus", classes...)); len(got) != 0 {
			t.Errorf("%s: %d types", what, len(got))
		}
	}
	if got, err := open(t, "eastus", class()).InstanceTypes(t.Context(), &v1.NodePool{}); len(got) != 0 || err != nil {
		t.Errorf("a pool without a class has %d types, %v", len(got), err)
	}
}

func TestTablesThatAreWrong(t *testing.T) {
	for what, line := range map[string]string{
		"too few": "D4s_v3 4 16", "vCPUs": "D4s_v3 four 16 x64 V2 none 0 0 0", "memory": "D4s_v3 4 much x64 V2 none 0 0 0",
		"half described": "D4s_v3 4 16 x64 - none 0 0 0", "other half": "D4s_v3 4 16 - - none 0 0 0", "no GPUs": "D4s_v3 4 16 - - - 0 0 some",
	} {
		if got, err := parseTable(line); err == nil || !strings.Contains(err.Error(), "D4s_v3") {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
	}
	got, err := parseTable("# text\nsource somewhere v1\ndate 2025-05-28\nzonal eastus westus2\nD4s_v3 4 16.5 - - - - 32 1\n")
	if err != nil || got.date != "2025-05-28" || len(got.zonal) != 2 || len(got.sizes) != 1 || got.sizes[0].memoryGiB != 16.5 || got.sizes[0].temporaryGiB != 32 || got.sizes[0].gpus != 1 {
		t.Errorf("got %+v, %v", got, err)
	}
	// Both tables and the prices are of one day, which answers name.
	known, err := parseTable(hardwareText)
	if err != nil || known.date != open(t, "eastus").Date() || !strings.Contains(spotText, "date,"+known.date) {
		t.Errorf("hardware of %s, prices of %s, %v", known.date, open(t, "eastus").Date(), err)
	}
}

// TestTypesWithoutAnImageAreLeftOut checks classes whose family has no image for an architecture, with and without a status that names images.
func TestTypesWithoutAnImageAreLeftOut(t *testing.T) {
	fips := func(c *v1beta1.AKSNodeClass) { c.Spec.FIPSMode = new(v1beta1.FIPSModeFIPS) }
	azureLinux := func(c *v1beta1.AKSNodeClass) { c.Spec.ImageFamily = new(v1beta1.ImageFamilyAzureLinux) }
	version := func(text string) func(*v1beta1.AKSNodeClass) {
		return func(c *v1beta1.AKSNodeClass) { c.Status.KubernetesVersion = text }
	}
	named := func(c *v1beta1.AKSNodeClass) {
		c.Status.Images = []v1beta1.NodeImage{{ID: "x", Requirements: []corev1.NodeSelectorRequirement{
			{Key: corev1.LabelArchStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"arm64"}},
		}}}
		condition.For(c, time.Time{}).True(v1beta1.ConditionTypeImagesReady)
	}
	for name, test := range map[string]struct {
		class        *v1beta1.AKSNodeClass
		amd64, arm64 bool
	}{
		"without FIPS":                {class(), true, true},
		"FIPS":                        {class(fips), true, false},
		"Azure Linux with FIPS":       {class(fips, azureLinux), true, true},
		"Azure Linux 2 with FIPS":     {class(fips, azureLinux, version("1.31.2")), true, false},
		"with images":                 {class(named), false, true},
		"of a family without a table": {class(func(c *v1beta1.AKSNodeClass) { c.Spec.ImageFamily = new("Windows") }), true, true},
	} {
		types := list(t, open(t, "eastus", test.class))
		if got := types["D4s_v3"] != nil; got != test.amd64 {
			t.Errorf("%s: D4s_v3 is listed: %t", name, got)
		}
		if got := types["D4ps_v5"] != nil; got != test.arm64 {
			t.Errorf("%s: D4ps_v5 is listed: %t", name, got)
		}
	}
}
