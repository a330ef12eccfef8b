package instancetype_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/instancetype"
	"github.com/karpenter-anew/karpenter/cloud/aws/kubelet"
)

// TestAllocatable compares instance types with published figures.
func TestAllocatable(t *testing.T) {
	t.Attr("covers", "A209 A211 A220 A224")
	for _, test := range []struct {
		name, cpu, memory, pods string
		others                  map[corev1.ResourceName]string
	}{
		{"a1.medium", "940m", "1392Mi", "8", map[corev1.ResourceName]string{awsv1.ResourcePodENI: "10"}},
		{"a1.large", "1930m", "3055Mi", "29", map[corev1.ResourceName]string{awsv1.ResourcePodENI: "9"}},
		{"a1.xlarge", "3920m", "6525Mi", "58", map[corev1.ResourceName]string{awsv1.ResourcePodENI: "18"}},
		{"c6g.large", "1930m", "3055Mi", "29", map[corev1.ResourceName]string{awsv1.ResourcePodENI: "9"}},
		{"m5.large", "1930m", "6903Mi", "29", map[corev1.ResourceName]string{awsv1.ResourcePodENI: "9"}},
		{"t3.large", "1930m", "6837Mi", "35", nil},
		{"g4dn.8xlarge", "31850m", "120248Mi", "58", map[corev1.ResourceName]string{awsv1.ResourceNVIDIAGPU: "1", awsv1.ResourceEFA: "1", awsv1.ResourcePodENI: "58"}},
		{"p5.48xlarge", "191450m", "1938410Mi", "100", map[corev1.ResourceName]string{awsv1.ResourceNVIDIAGPU: "8", awsv1.ResourceEFA: "32", awsv1.ResourcePodENI: "120"}},
		{"inf2.xlarge", "3920m", "14162Mi", "58", map[corev1.ResourceName]string{awsv1.ResourceNeuron: "1", awsv1.ResourceNeuronCore: "2", awsv1.ResourcePodENI: "18"}},
		{"trn1.2xlarge", "7910m", "29317Mi", "58", map[corev1.ResourceName]string{awsv1.ResourceNeuron: "1", awsv1.ResourceNeuronCore: "2", awsv1.ResourcePodENI: "17"}},
		{"i3en.24xlarge", "95690m", "718987Mi", "737", map[corev1.ResourceName]string{awsv1.ResourceEFA: "1", awsv1.ResourcePodENI: "107"}},
		{"m5.metal", "95690m", "355262Mi", "737", map[corev1.ResourceName]string{awsv1.ResourcePodENI: "120"}},
		{"dl1.24xlarge", "95690m", "", "737", map[corev1.ResourceName]string{awsv1.ResourceGaudi: "8", awsv1.ResourceEFA: "4", awsv1.ResourcePodENI: ""}},
		{"g4ad.4xlarge", "", "", "29", map[corev1.ResourceName]string{awsv1.ResourceAMDGPU: "1", awsv1.ResourcePodENI: ""}},
	} {
		t.Run(test.name, func(t *testing.T) {
			it := instancetype.Resolve(input(t, test.name))
			want := map[corev1.ResourceName]string{
				corev1.ResourceCPU: test.cpu, corev1.ResourceMemory: test.memory, corev1.ResourcePods: test.pods, corev1.ResourceEphemeralStorage: "17Gi",
				awsv1.ResourcePodENI: "0", awsv1.ResourceNVIDIAGPU: "0", awsv1.ResourceAMDGPU: "0", awsv1.ResourceGaudi: "0",
				awsv1.ResourceNeuron: "0", awsv1.ResourceNeuronCore: "0", awsv1.ResourceEFA: "0",
			}
			for name, amount := range test.others {
				want[name] = amount
			}
			got := map[corev1.ResourceName]string{}
			for name := range it.Capacity {
				got[name] = allocatable(it, name)
				if want[name] == "" {
					got[name] = ""
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestDiscoveredMemory(t *testing.T) {
	in := input(t, "m5.large")
	in.Class.Kubelet.EvictionHard = map[string]string{"memory.available": "10%"}
	before := instancetype.Resolve(in)
	in.DiscoveredMemory = 7700 << 20
	after := instancetype.Resolve(in)
	if got := after.Capacity.Memory().String(); got != "7700Mi" {
		t.Errorf("capacity is %s", got)
	}
	if diff := cmp.Diff(before.Overhead, after.Overhead); diff != "" {
		t.Errorf("the overhead moved with what was learned (-before +after)\n%s", diff)
	}
}

func TestWindowsAddresses(t *testing.T) {
	t.Attr("covers", "A210")
	in := input(t, "m5.large")
	if _, ok := instancetype.Resolve(in).Capacity[awsv1.ResourcePrivateIPv4Address]; ok {
		t.Error("Linux has addresses of Windows")
	}
	in.Class.Family = awsv1.FamilyWindows2022
	if q := instancetype.Resolve(in).Capacity[awsv1.ResourcePrivateIPv4Address]; q.Value() != 9 {
		t.Errorf("%s addresses", q.String())
	}
	in.Limits = instancetype.NetworkLimits{}
	if q := instancetype.Resolve(in).Capacity[awsv1.ResourcePrivateIPv4Address]; q.Value() != 0 {
		t.Errorf("%s addresses of a type that the table does not have", q.String())
	}
}

func TestPods(t *testing.T) {
	t.Attr("covers", "A224 A225 A226 A227 A228 A229 A233")
	everyFamily := []awsv1.Family{awsv1.FamilyAL2, awsv1.FamilyAL2023, awsv1.FamilyBottlerocket, awsv1.FamilyCustom, awsv1.FamilyWindows2019, awsv1.FamilyWindows2022, awsv1.FamilyWindows2025}
	linux := everyFamily[:4]
	fabric := []*awsv1.NetworkInterface{{InterfaceType: "interface"}, {DeviceIndex: 1, InterfaceType: "efa-only"}, {NetworkCardIndex: 1, InterfaceType: "efa-only"}}
	for _, test := range []struct {
		name, kind string
		families   []awsv1.Family
		change     func(*instancetype.Input)
		want       int64
	}{
		{"by interfaces", "t3.large", linux, nil, 35},
		{"of the first card alone", "m6idn.32xlarge", linux, nil, 394},
		{"fabric on the first card", "m6idn.32xlarge", linux, func(in *instancetype.Input) { in.Class.NetworkInterfaces = fabric }, 345},
		{"as the user says", "t3.large", everyFamily, maxPods(10), 10},
		{"none if the user says so", "t3.large", everyFamily, maxPods(0), 0},
		{"interfaces set aside", "t3.large", linux, func(in *instancetype.Input) { in.Settings.ReservedENIs = 1 }, 24},
		{"all interfaces set aside", "t3.large", linux, func(in *instancetype.Input) { in.Settings.ReservedENIs = 3 }, 0},
		{"more interfaces set aside than there are", "t3.large", linux, func(in *instancetype.Input) { in.Settings.ReservedENIs = 1000000 }, 0},
		{"per core", "t3.large", []awsv1.Family{awsv1.FamilyAL2, awsv1.FamilyAL2023, awsv1.FamilyCustom, awsv1.FamilyWindows2022}, perCore(4), 8},
		{"per core, ignored", "t3.large", []awsv1.Family{awsv1.FamilyBottlerocket}, perCore(4), 35},
		{"per core, beyond what there is", "t3.large", []awsv1.Family{awsv1.FamilyAL2023}, perCore(400), 35},
		{"per core, zero", "t3.large", []awsv1.Family{awsv1.FamilyAL2023}, perCore(0), 35},
		{"the smaller of two", "t3.large", []awsv1.Family{awsv1.FamilyAL2023}, func(in *instancetype.Input) { perCore(4)(in); maxPods(10)(in) }, 8},
		{"Windows", "t3.large", everyFamily[4:], nil, 110},
		{"an expression does not count", "t3.large", linux, func(in *instancetype.Input) {
			in.Class.Kubelet.MaxPods = new(intstr.FromString("vcpus * 3"))
		}, 35},
		{"no network is told", "t3.large", linux, func(in *instancetype.Input) { in.Description.Network = nil }, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, family := range test.families {
				in := input(t, test.kind)
				in.Class.Family = family
				if test.change != nil {
					test.change(&in)
				}
				if got := instancetype.Resolve(in).Capacity.Pods().Value(); got != test.want {
					t.Errorf("%s: %d pods, want %d", family, got, test.want)
				}
			}
		})
	}
}

func maxPods(n int32) func(*instancetype.Input) {
	return func(in *instancetype.Input) { in.Class.Kubelet.MaxPods = new(intstr.FromInt32(n)) }
}

func perCore(n int32) func(*instancetype.Input) {
	return func(in *instancetype.Input) { in.Class.Kubelet.PodsPerCore = &n }
}

func TestOverhead(t *testing.T) {
	t.Attr("covers", "A220 A221 A222 A223 A233")
	base := func() map[corev1.ResourceName]string {
		return map[corev1.ResourceName]string{"cpu": "80m", "memory": "993Mi", "ephemeral-storage": "3Gi"}
	}
	with := func(name corev1.ResourceName, value string) map[corev1.ResourceName]string {
		out := base()
		out[name] = value
		return out
	}
	for _, test := range []struct {
		name   string
		config kubelet.Config
		want   map[corev1.ResourceName]string
	}{
		{"the default", kubelet.Config{}, base()},
		{"the system", kubelet.Config{SystemReserved: map[string]string{"cpu": "1", "pid": "100"}}, map[corev1.ResourceName]string{"cpu": "1080m", "memory": "993Mi", "ephemeral-storage": "3Gi", "pid": "100"}},
		{"the kubelet's CPU", kubelet.Config{KubeReserved: map[string]string{"cpu": "500m"}}, with("cpu", "500m")},
		{"the kubelet's memory", kubelet.Config{KubeReserved: map[string]string{"memory": "1Gi"}}, with("memory", "1124Mi")},
		{"the kubelet's disk", kubelet.Config{KubeReserved: map[string]string{"ephemeral-storage": "2Gi"}}, with("ephemeral-storage", "4Gi")},
		{"an expression does not count", kubelet.Config{KubeReserved: map[string]string{"cpu": "vcpus * 10"}, SystemReserved: map[string]string{"memory": "memory_mib"}}, base()},
		{"memory that has to stay free", kubelet.Config{EvictionHard: map[string]string{"memory.available": "500Mi"}}, with("memory", "1393Mi")},
		{"a share of the memory", kubelet.Config{EvictionHard: map[string]string{"memory.available": "10%"}}, with("memory", "2466304Ki")},
		{"all of the memory", kubelet.Config{EvictionHard: map[string]string{"memory.available": "100%"}}, with("memory", "893Mi")},
		{"disk that has to stay free", kubelet.Config{EvictionHard: map[string]string{"nodefs.available": "4Gi"}}, with("ephemeral-storage", "5Gi")},
		{"a share of the disk", kubelet.Config{EvictionHard: map[string]string{"nodefs.available": "5%"}}, with("ephemeral-storage", "2Gi")},
		{"all of the disk", kubelet.Config{EvictionHard: map[string]string{"nodefs.available": "100%"}}, with("ephemeral-storage", "1Gi")},
		{"other signals", kubelet.Config{EvictionHard: map[string]string{"pid.available": "5%"}}, base()},
		{"soft eviction", kubelet.Config{EvictionSoft: map[string]string{"memory.available": "50%", "nodefs.available": "10Gi"}}, base()},
		{"soft beside hard eviction", kubelet.Config{
			EvictionHard: map[string]string{"memory.available": "500Mi"}, EvictionSoft: map[string]string{"memory.available": "3Gi"},
		}, with("memory", "1393Mi")},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := input(t, "m5.xlarge")
			in.Class.Kubelet = test.config
			got := instancetype.Resolve(in).Overhead
			for name, text := range test.want {
				if want, have := resource.MustParse(text), got[name]; want.Cmp(have) != 0 {
					t.Errorf("%s is %s, want %s", name, have.String(), text)
				}
			}
			if len(got) != len(test.want) {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestKubeletMemory(t *testing.T) {
	t.Attr("covers", "A230")
	for family, want := range map[awsv1.Family]string{
		awsv1.FamilyAL2: "740Mi", awsv1.FamilyAL2023: "740Mi", awsv1.FamilyCustom: "740Mi", awsv1.FamilyBottlerocket: "465Mi", awsv1.FamilyWindows2022: "465Mi",
	} {
		in := input(t, "t3.large")
		in.Class.Family = family
		in.Settings.ReservedENIs = 1
		maxPods(10)(&in)
		if got := instancetype.Resolve(in).Overhead.Memory().String(); got != want {
			t.Errorf("%s: %s, want %s", family, got, want)
		}
	}
}

func TestDisk(t *testing.T) {
	t.Attr("covers", "A235 A236 A237 A238")
	disk := func(name, size string, root bool) *awsv1.BlockDeviceMapping {
		out := &awsv1.BlockDeviceMapping{DeviceName: &name, RootVolume: root, EBS: &awsv1.BlockDevice{}}
		if size != "" {
			out.EBS.VolumeSize = new(resource.MustParse(size))
		}
		return out
	}
	for _, test := range []struct {
		name   string
		family awsv1.Family
		raid   bool
		kind   string
		disks  []*awsv1.BlockDeviceMapping
		want   string
	}{
		{"AL2", awsv1.FamilyAL2, false, "m5.large", nil, "20Gi"},
		{"AL2023", awsv1.FamilyAL2023, false, "m5.large", nil, "20Gi"},
		{"Bottlerocket", awsv1.FamilyBottlerocket, false, "m5.large", nil, "20Gi"},
		{"Windows", awsv1.FamilyWindows2019, false, "m5.large", nil, "50Gi"},
		{"Custom", awsv1.FamilyCustom, false, "m5.large", nil, "20Gi"},
		{"the family's disk", awsv1.FamilyBottlerocket, false, "m5.large", []*awsv1.BlockDeviceMapping{disk("/dev/xvda", "30Gi", false), disk("/dev/xvdb", "40Gi", false)}, "40Gi"},
		{"another disk", awsv1.FamilyAL2023, false, "m5.large", []*awsv1.BlockDeviceMapping{disk("/dev/sdb", "40Gi", false)}, "20Gi"},
		{"the root volume", awsv1.FamilyBottlerocket, false, "m5.large", []*awsv1.BlockDeviceMapping{disk("/dev/xvda", "30Gi", true), disk("/dev/xvdb", "40Gi", false)}, "30Gi"},
		{"the last disk of Custom", awsv1.FamilyCustom, false, "m5.large", []*awsv1.BlockDeviceMapping{disk("/dev/xvda", "30Gi", false), disk("/dev/xvdb", "40Gi", false)}, "40Gi"},
		{"the root volume of Custom", awsv1.FamilyCustom, false, "m5.large", []*awsv1.BlockDeviceMapping{disk("/dev/xvda", "30Gi", true), disk("/dev/xvdb", "40Gi", false)}, "30Gi"},
		{"Custom without size", awsv1.FamilyCustom, false, "m5.large", []*awsv1.BlockDeviceMapping{disk("/dev/xvda", "30Gi", false), disk("/dev/xvdb", "", false)}, "20Gi"},
		{"no volume at all", awsv1.FamilyCustom, false, "m5.large", []*awsv1.BlockDeviceMapping{{}}, "20Gi"},
		{"a disk without size and name", awsv1.FamilyAL2023, false, "m5.large", []*awsv1.BlockDeviceMapping{{EBS: &awsv1.BlockDevice{VolumeSize: new(resource.MustParse("9Gi"))}}}, "20Gi"},
		{"built-in disks", awsv1.FamilyAL2023, true, "i3en.24xlarge", []*awsv1.BlockDeviceMapping{disk("/dev/xvda", "30Gi", true)}, "60T"},
		{"no built-in disks", awsv1.FamilyAL2023, true, "m5.large", nil, "20Gi"},
		{"built-in disks that are not wanted", awsv1.FamilyAL2023, false, "i3en.24xlarge", nil, "20Gi"},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := input(t, test.kind)
			in.Class.Family, in.Class.RAID0, in.Class.BlockDevices = test.family, test.raid, test.disks
			if got := instancetype.Resolve(in).Capacity.StorageEphemeral().String(); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
