package instancetype_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/aws/instancetype"
)

func TestLabels(t *testing.T) {
	t.Attr("covers", "A205 A206 A207 A208 A214")
	for _, test := range []struct {
		name, kind string
		family     awsv1.Family
		want       string
	}{
		{"a GPU", "g4dn.8xlarge", awsv1.FamilyAL2023, `instance-cpu=32 instance-cpu-sustained-clock-speed-mhz=2500 instance-memory=131072 instance-ebs-bandwidth=9500
			instance-network-bandwidth=50000 instance-gpu-name=t4 instance-gpu-manufacturer=nvidia instance-gpu-count=1 instance-gpu-memory=16384 instance-local-nvme=900
			instance-accelerator-count=- nitro-sandbox=true instance-encryption-in-transit-supported=true instance-cpu-manufacturer=intel`},
		{"a small ARM type", "a1.medium", awsv1.FamilyAL2, `instance-category=a instance-generation=1 instance-family=a1 instance-size=medium instance-cpu=1 instance-cpu-manufacturer=aws
			instance-cpu-sustained-clock-speed-mhz=2300 instance-memory=2048 instance-ebs-bandwidth=3500 instance-hypervisor=nitro instance-capability-flex=false
			kubernetes.io/arch=arm64 kubernetes.io/os=linux node.kubernetes.io/windows-build=- instance-gpu-count=- instance-local-nvme=- nitro-sandbox=false
			topology.kubernetes.io/region=us-east-1 node.kubernetes.io/instance-type=a1.medium placement-group-id=- capacity-reservation-id=-`},
		{"Neuron", "inf2.xlarge", awsv1.FamilyAL2023, `instance-category=inf instance-generation=2 instance-accelerator-name=inferentia2 instance-accelerator-manufacturer=aws instance-accelerator-count=1`},
		{"an older accelerator", "inf1.2xlarge", awsv1.FamilyAL2023, `instance-accelerator-name=inferentia instance-accelerator-manufacturer=aws instance-accelerator-count=1`},
		{"Gaudi", "dl1.24xlarge", awsv1.FamilyAL2023, `instance-gpu-name=gaudi-hl-205 instance-gpu-manufacturer=habana instance-gpu-count=8`},
		{"flex", "c7i-flex.large", awsv1.FamilyAL2023, `instance-capability-flex=true instance-family=c7i-flex instance-category=c instance-generation=7`},
		{"a name with a size in it", "u-6tb1.metal", awsv1.FamilyAL2023, `instance-category=u instance-generation=1 instance-family=u-6tb1 instance-size=metal`},
		{"Windows 2019", "m5.large", awsv1.FamilyWindows2019, `kubernetes.io/os=windows node.kubernetes.io/windows-build=10.0.17763`},
		{"Windows 2022", "m5.large", awsv1.FamilyWindows2022, `node.kubernetes.io/windows-build=10.0.20348`},
		{"Windows 2025", "m5.large", awsv1.FamilyWindows2025, `node.kubernetes.io/windows-build=10.0.26100`},
		{"Windows on ARM", "c6g.large", awsv1.FamilyWindows2022, `kubernetes.io/os=-`},
		{"no bandwidth that is promised", "m5.large", awsv1.FamilyAL2023, `instance-network-bandwidth=-`},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := input(t, test.kind)
			in.Class.Family = test.family
			it := instancetype.Resolve(in)
			for _, pair := range strings.Fields(test.want) {
				key, want, _ := strings.Cut(pair, "=")
				if !strings.Contains(key, "/") {
					key = awsv1.Group + "/" + key
				}
				if got := label(it, key); got != want {
					t.Errorf("%s is %q, want %q", key, got, want)
				}
			}
		})
	}
}

// TestEveryLabelIsDefined checks the provider contract for labels, on every type and family.
func TestEveryLabelIsDefined(t *testing.T) {
	rules := awsv1.LabelRules()
	for _, name := range []string{"a1.medium", "g4dn.8xlarge", "inf2.xlarge", "m5.metal"} {
		for _, family := range []awsv1.Family{awsv1.FamilyAL2, awsv1.FamilyWindows2022, awsv1.FamilyCustom} {
			in := input(t, name)
			in.Class.Family = family
			it := instancetype.Resolve(in)
			defined := map[string]bool{}
			for _, r := range it.Requirements {
				if defined[r.Key] || !rules.WellKnown[r.Key] {
					t.Errorf("%s on %s: %s is defined twice or not well known", name, family, r.Key)
				}
				defined[r.Key] = true
			}
			for _, key := range slices.Sorted(maps.Keys(rules.WellKnown)) {
				if !defined[key] && key != v1.NodePoolLabelKey {
					t.Errorf("%s on %s: %s is not defined", name, family, key)
				}
			}
		}
	}
}

func TestTenancyAndCapacityType(t *testing.T) {
	set := cloud.Requirements(instancetype.Resolve(input(t, "m5.large")).Requirements, awsv1.LabelRules())
	for key, want := range map[string][]string{
		awsv1.LabelInstanceTenancy: {"dedicated", "default"}, v1.CapacityTypeLabelKey: {"on-demand", "spot"},
		"topology.kubernetes.io/zone": {"us-east-1a", "us-east-1b"}, awsv1.LabelZoneID: {"use1-az1", "use1-az2"},
	} {
		if got := set.Get(key).Values(); !slices.Equal(got, want) {
			t.Errorf("%s is %v, want %v", key, got, want)
		}
	}
}

// TestAnEmptyDescription checks that a type with an almost empty description does not fail.
func TestAnEmptyDescription(t *testing.T) {
	in := instancetype.Input{Description: instancetype.Description{Name: "x"}}
	it := instancetype.Resolve(in)
	if len(it.Offerings) != 0 || label(it, awsv1.LabelInstanceCategory) != "-" || label(it, "kubernetes.io/arch") != "[]" {
		t.Errorf("got %+v", it)
	}
	in.Description.Architectures, in.Description.Neurons = []string{"i386"}, []instancetype.Neuron{}
	if got := label(instancetype.Resolve(in), "kubernetes.io/arch"); got != "[i386]" {
		t.Errorf("the architecture is %s", got)
	}
}

func TestKnownLimits(t *testing.T) {
	t.Attr("covers", "N346")
	limits := instancetype.KnownLimits()
	if len(limits) < 1401 {
		t.Errorf("only %d types", len(limits))
	}
	for _, name := range []string{"c9g.large", "c9gd.metal-48xl", "hpc7g.16xlarge"} {
		if limits[name].Interfaces == 0 || limits[name].IPv4PerInterface == 0 {
			t.Errorf("the limits of %s are not known: %+v", name, limits[name])
		}
	}
	if got, want := limits["m5.large"], (instancetype.NetworkLimits{Interfaces: 3, IPv4PerInterface: 10, BranchInterfaces: 9}); got != want {
		t.Errorf("m5.large: %+v, want %+v", got, want)
	}
	if got := limits["t3.large"].BranchInterfaces; got != 0 {
		t.Errorf("t3.large has %d branch interfaces", got)
	}
}

func TestExotic(t *testing.T) {
	for name, want := range map[string]bool{
		"m5.large": false, "i3en.24xlarge": false, "c7i-flex.large": false, "m5.metal": true, "u-6tb1.metal": true,
		"g4dn.8xlarge": true, "p5.48xlarge": true, "inf2.xlarge": true, "trn1.2xlarge": true, "dl1.24xlarge": true, "g4ad.4xlarge": true,
	} {
		if got := instancetype.Resolve(input(t, name)).Exotic; got != want {
			t.Errorf("%s: exotic is %t, want %t", name, got, want)
		}
	}
}
