package instancetype_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/cloud/azure/gpu"
	"github.com/karpenter-anew/karpenter/cloud/azure/instancetype"
	"github.com/karpenter-anew/karpenter/cloud/azure/sku"
)

// columns are the types of the table of filters, with the hardware that filters look at.
func columns() []sku.Description {
	v1AndV2 := sku.Description{VCPUs: 2, Architecture: "amd64", EncryptionAtHost: true, TrustedLaunch: true}
	named := func(name string, change func(*sku.Description)) sku.Description {
		d := v1AndV2
		d.Name = "Standard_" + name
		d.GPU, _ = gpu.Of(d.Name)
		change(&d)
		return d
	}
	vcpus := func(n int64) func(*sku.Description) { return func(d *sku.Description) { d.VCPUs = n } }
	return []sku.Description{
		named("D2s_v3", vcpus(2)),
		named("D2_v2", func(d *sku.Description) { d.EncryptionAtHost, d.TrustedLaunch = false, false }),
		named("D2_v5", vcpus(2)),
		named("D16plds_v5", func(d *sku.Description) { d.VCPUs, d.Architecture, d.TrustedLaunch = 16, "arm64", false }),
		named("D2as_v6", vcpus(2)),
		named("D64s_v3", vcpus(64)),
		named("NC16as_T4_v3", vcpus(16)),
		named("NC24ads_A100_v4", vcpus(24)),
		named("NV4ads_V710_v5", vcpus(4)),
	}
}

// TestFilters holds the types of classes against the conformance vectors: y or n for each column.
func TestFilters(t *testing.T) {
	t.Attr("covers", "Z052 Z053")
	for _, test := range []struct {
		what   string
		change func(*instancetype.Class)
		want   string
	}{
		{"Ubuntu", func(*instancetype.Class) {}, "yyyyyyyyn"},
		{"Ubuntu2204", func(c *instancetype.Class) { c.ImageFamily = "Ubuntu2204" }, "yyyyyyyyn"},
		{"Ubuntu, no driver", func(c *instancetype.Class) { c.InstallsGPUDriver = false }, "yyyyyyyyy"},
		{"AzureLinux", func(c *instancetype.Class) { c.ImageFamily = "AzureLinux" }, "yyyyyyyyn"},
		{"AzureLinux, no driver", func(c *instancetype.Class) { c.ImageFamily, c.InstallsGPUDriver = "AzureLinux", false }, "yyyyyyyyn"},
		{"an unknown family, no driver", func(c *instancetype.Class) { c.ImageFamily, c.InstallsGPUDriver = "Other", false }, "yyyyyynnn"},
		{"encryption at host", func(c *instancetype.Class) { c.EncryptionAtHost = true }, "ynyyyyyyn"},
		{"trusted launch", func(c *instancetype.Class) { c.TrustedLaunch = true }, "ynynyyyyn"},
		{"LocalDNS", func(c *instancetype.Class) { c.LocalDNS = true }, "nnnynyyyn"},
		{"artifact streaming", func(c *instancetype.Class) { c.StreamsArtifacts = true }, "yyynyyyyn"},
		{"LocalDNS, trusted launch", func(c *instancetype.Class) { c.LocalDNS, c.TrustedLaunch = true, true }, "nnnnnyyyn"},
		{"all", func(c *instancetype.Class) {
			c.LocalDNS, c.TrustedLaunch, c.EncryptionAtHost, c.StreamsArtifacts, c.InstallsGPUDriver = true, true, true, true, false
		}, "nnnnnyyyy"},
	} {
		class := input().Class
		test.change(&class)
		var got strings.Builder
		for _, d := range columns() {
			in := input()
			in.SKU, in.Class = d, class
			it, ok := instancetype.Resolve(in)
			if ok != instancetype.Compatible(&d, class) || ok == (it == nil) {
				t.Errorf("%s, %s: compatible is %v", test.what, d.Name, ok)
			}
			got.WriteString(map[bool]string{true: "y", false: "n"}[ok])
		}
		if got.String() != test.want {
			t.Errorf("%s: %s, want %s", test.what, got.String(), test.want)
		}
	}
}

// TestAzureLinuxHasOnlySomeGPUs checks a size whose driver exists only for Ubuntu.
func TestAzureLinuxHasOnlySomeGPUs(t *testing.T) {
	t.Attr("covers", "Z052")
	for name, want := range map[string]bool{"Standard_NC6s_v3": true, "Standard_NC24ads_A100_v4": true, "Standard_NC6s_v2": false, "Standard_ND128isr_GB300_v6": false} {
		d := description()
		d.GPU, _ = gpu.Of(name)
		class := input().Class
		if !instancetype.Compatible(&d, class) {
			t.Errorf("%s cannot run Ubuntu", name)
		}
		class.ImageFamily = v1beta1.ImageFamilyAzureLinux
		if got := instancetype.Compatible(&d, class); got != want {
			t.Errorf("%s can run Azure Linux: %v", name, got)
		}
	}
}

func TestClassOf(t *testing.T) {
	network := instancetype.Network{Plugin: "azure", Mode: "overlay"}
	want := instancetype.Class{ImageFamily: "Ubuntu", OSDiskSizeGB: 128, MaxPods: 250, InstallsGPUDriver: true}
	if diff := cmp.Diff(want, instancetype.ClassOf(&v1beta1.AKSNodeClass{}, network)); diff != "" {
		t.Errorf("defaults (-want +got)\n%s", diff)
	}
	yes, family, disk, pods, fips := true, "AzureLinux", int32(300), int32(60), v1beta1.FIPSModeFIPS
	class := &v1beta1.AKSNodeClass{Spec: v1beta1.AKSNodeClassSpec{
		ImageFamily: &family, OSDiskSizeGB: &disk, MaxPods: &pods, FIPSMode: &fips, GPU: &v1beta1.GPU{Mode: v1beta1.GPUModeNone},
		ArtifactStreaming: &v1beta1.ArtifactStreaming{Enabled: &yes},
		Security:          &v1beta1.Security{EncryptionAtHost: &yes, TrustedLaunch: &v1beta1.TrustedLaunch{SecureBoot: &yes}},
	}}
	class.Status.LocalDNSState = v1beta1.LocalDNSStateEnabled
	want = instancetype.Class{
		ImageFamily: "AzureLinux", OSDiskSizeGB: 300, MaxPods: 60, EncryptionAtHost: true, TrustedLaunch: true, LocalDNS: true, StreamsArtifacts: true, FIPS: true,
	}
	if diff := cmp.Diff(want, instancetype.ClassOf(class, network)); diff != "" {
		t.Errorf("everything set (-want +got)\n%s", diff)
	}
}
