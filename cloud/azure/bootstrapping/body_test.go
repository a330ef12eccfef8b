package bootstrapping_test

import (
	"encoding/json"
	"maps"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/cloud/azure/bootstrapping"
	"github.com/karpenter-anew/karpenter/cloud/azure/family"
	"github.com/karpenter-anew/karpenter/cloud/azure/sku"
)

// sent is what is sent for a node, as the service reads it.
func sent(t *testing.T, spec *bootstrapping.Spec) (profile, helper map[string]any) {
	t.Helper()
	body, err := bootstrapping.BodyOf(spec)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	out := decoded(t, string(data))
	profile, ok := out["provisionProfile"].(map[string]any)
	helper, found := out["provisionHelperValues"].(map[string]any)
	if len(out) != 2 || !ok || !found {
		t.Fatalf("sent %s", data)
	}
	return profile, helper
}

func decoded(t *testing.T, text string) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return out
}

// plain is what is sent for a class without settings.
const plain = `{
	"name": "", "vmSize": "Standard_D2s_v3", "orchestratorVersion": "1.33.4", "vnetSubnetID": "S", "distro": "d", "maxPods": 250, "architecture": "x64",
	"osType": 2, "osSku": 1, "storageProfile": "ManagedDisks", "mode": 2, "vnetCidrs": [], "customNodeLabels": {}, "nodeInitializationTaints": [],
	"nodeTaints": [], "customKubeletConfig": {}, "enableFIPS": false, "securityProfile": {"sshAccess": 0}, "artifactStreamingProfile": {"enabled": false}
}`

// TestBody compares what is sent with that for a class without settings.
func TestBody(t *testing.T) {
	t.Attr("covers", "Z167 Z168 Z241")
	size := func(name string) func(*bootstrapping.Spec) {
		return func(s *bootstrapping.Spec) { s.SKU.Name = name }
	}
	gpu := func(name, driver string) string {
		return `{"vmSize": "` + name + `", "gpuProfile": {"installGPUDriver": true, "driverType": ` + driver + `}}`
	}
	for what, test := range map[string]struct {
		change func(*bootstrapping.Spec)
		want   string
	}{
		"nothing":                {func(*bootstrapping.Spec) {}, `{}`},
		"Ubuntu 20.04":           {func(s *bootstrapping.Spec) { s.Family = family.Ubuntu2004 }, `{}`},
		"Ubuntu 24.04":           {func(s *bootstrapping.Spec) { s.Family = family.Ubuntu2404 }, `{}`},
		"Azure Linux 2":          {func(s *bootstrapping.Spec) { s.Family = family.AzureLinux2 }, `{"osSku": 7}`},
		"Azure Linux 3":          {func(s *bootstrapping.Spec) { s.Family = family.AzureLinux3 }, `{"osSku": 7}`},
		"the architecture arm64": {func(s *bootstrapping.Spec) { s.SKU.Architecture = "arm64" }, `{"architecture": "Arm64"}`},
		"an ephemeral disk":      {func(s *bootstrapping.Spec) { s.EphemeralDisk = true }, `{"storageProfile": "Ephemeral"}`},
		"system pods":            {func(s *bootstrapping.Spec) { s.System = true }, `{"mode": 1}`},
		"a GPU":                  {size("Standard_NC4as_T4_v3"), gpu("Standard_NC4as_T4_v3", "3")},
		"an old GPU":             {size("Standard_NC6"), gpu("Standard_NC6", "3")},
		"a shared GPU":           {size("Standard_NV6ads_A10_v5"), gpu("Standard_NV6ads_A10_v5", "2")},
		"a GPU whose driver is GRID 20": {
			size("Standard_NC24lds_xl_RTXPRO6000BSE_v6"), gpu("Standard_NC24lds_xl_RTXPRO6000BSE_v6", "2"),
		},
		"a GPU of AMD": {size("Standard_ND96is_MI300X_v5"), `{"vmSize": "Standard_ND96is_MI300X_v5"}`},
		"a GPU without a driver": {
			func(s *bootstrapping.Spec) {
				s.SKU.Name, s.Class.Spec.GPU = "Standard_NC4as_T4_v3", &v1beta1.GPU{Mode: v1beta1.GPUModeNone}
			},
			`{"vmSize": "Standard_NC4as_T4_v3", "gpuProfile": {"installGPUDriver": false, "driverType": 3}}`,
		},
		"FIPS": {func(s *bootstrapping.Spec) { s.Class.Spec.FIPSMode = new(v1beta1.FIPSModeFIPS) }, `{"enableFIPS": true}`},
		"trusted launch": {
			func(s *bootstrapping.Spec) {
				s.Class.Spec.Security = &v1beta1.Security{TrustedLaunch: &v1beta1.TrustedLaunch{VTPM: new(true), SecureBoot: new(false)}}
			},
			`{"securityProfile": {"sshAccess": 0, "enableVTPM": true, "enableSecureBoot": false}}`,
		},
		"encryption at host": {
			func(s *bootstrapping.Spec) { s.Class.Spec.Security = &v1beta1.Security{EncryptionAtHost: new(true)} }, `{}`,
		},
		"streaming": {
			func(s *bootstrapping.Spec) {
				s.Class.Spec.ArtifactStreaming = &v1beta1.ArtifactStreaming{Enabled: new(true)}
			},
			`{"artifactStreamingProfile": {"enabled": true}}`,
		},
		"labels and taints": {
			func(s *bootstrapping.Spec) {
				s.Labels, s.StartupTaints, s.Taints = map[string]string{"k": "v"}, []string{"karpenter.sh/unregistered=:NoExecute"}, []string{"a=b:NoSchedule"}
			},
			`{"customNodeLabels": {"k": "v"}, "nodeInitializationTaints": ["karpenter.sh/unregistered=:NoExecute"], "nodeTaints": ["a=b:NoSchedule"]}`,
		},
		"the kubelet": {
			func(s *bootstrapping.Spec) {
				s.Class.Spec.Kubelet = &v1beta1.KubeletConfiguration{ContainerLogMaxSize: "50Mi", PodPidsLimit: new(int64(-5)), CPUManagerPolicy: "static"}
			},
			`{"customKubeletConfig": {"cpuManagerPolicy": "static", "containerLogMaxSizeMB": 50, "podMaxPids": -1}}`,
		},
		"Linux": {
			func(s *bootstrapping.Spec) {
				s.Class.Spec.LinuxOSConfig = &v1beta1.LinuxOSConfiguration{
					SwapFileSize: "1Gi", Sysctls: &v1beta1.SysctlConfiguration{
						NetIPv4TCPKeepaliveTime: new(int32(60)), NetIPv4TCPKeepaliveIntvl: new(int32(10)), NetIPv4IPLocalPortRange: "1024 65535", NetIPv4NeighDefaultGcThresh1: new(int32(128)),
					},
				}
			},
			`{"customLinuxOSConfig": {"swapFileSizeMB": 1024, "sysctls": {
				"netIpv4TcpKeepaliveTime": 60, "netIpv4TcpkeepaliveIntvl": 10, "netIpv4IpLocalPortRange": "1024 65535", "netIpv4NeighDefaultGcThresh1": 128
			}}}`,
		},
		"local DNS": {
			func(s *bootstrapping.Spec) {
				s.Class.Spec.LocalDNS = &v1beta1.LocalDNS{
					Mode: v1beta1.LocalDNSModeRequired, VnetDNSOverrides: []v1beta1.LocalDNSZoneOverride{{Zone: ".", Protocol: "PreferUDP", MaxConcurrent: new(int32(1000))}},
				}
			},
			`{"localDNSProfile": {"mode": "Required", "vnetDNSOverrides": {".": {"protocol": "PreferUDP", "maxConcurrent": 1000}}}}`,
		},
	} {
		s := spec()
		test.change(s)
		want := decoded(t, plain)
		maps.Copy(want, decoded(t, test.want))
		got, _ := sent(t, s)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", what, diff)
		}
	}
	s := spec()
	s.Class.Spec.Kubelet = &v1beta1.KubeletConfiguration{ContainerLogMaxSize: "x"}
	if _, err := bootstrapping.BodyOf(s); err == nil {
		t.Error("a size that is not a quantity is sent")
	}
	s = spec()
	s.Class.Spec.LinuxOSConfig = &v1beta1.LinuxOSConfiguration{SwapFileSize: "x"}
	if _, err := bootstrapping.BodyOf(s); err == nil {
		t.Error("a size that is not a quantity is sent")
	}
}

// TestHardware checks that the service learns the memory of the hardware: what the overhead took is added again, and nothing else.
func TestHardware(t *testing.T) {
	t.Attr("covers", "Z168")
	for _, overhead := range []float64{0, 0.06, 0.075, 0.1, 0.2} {
		for gib := int64(3); gib <= 4096; gib++ {
			s := spec()
			s.SKU = sku.Description{Name: "Standard_D2s_v3", VCPUs: 2}
			s.MemoryCapacity, s.MemoryOverhead = gib<<30-int64(math.Ceil(float64(gib<<30)*overhead)), overhead
			body, err := bootstrapping.BodyOf(s)
			if err != nil || body.Helper.Memory != float64(gib) || body.Helper.CPU != 2 {
				t.Fatalf("%d GiB, overhead %g: %+v, %v", gib, overhead, body.Helper, err)
			}
		}
	}
	_, helper := sent(t, spec())
	if diff := cmp.Diff(map[string]any{"skuCPU": 2.0, "skuMemory": 8.0}, helper); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
