package aksmachine_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/cloud/azure/aksmachine"
	"github.com/karpenter-anew/karpenter/cloud/azure/family"
)

// golden is the body of an on-demand AKSMachine of a class with defaults.
const golden = `{"zones":["1"],"properties":{"mode":"User","nodeImageVersion":"AKSUbuntu-2404gen2containerd-202606.10.0",` +
	`"hardware":{"vmSize":"Standard_D4s_v3","ultraSsdEnabled":false},"operatingSystem":{"osType":"Linux","osSKU":"Ubuntu2404",` +
	`"osDiskSizeGB":128,"osDiskType":"Managed","enableFIPS":false},"kubernetes":{"orchestratorVersion":"1.34.1",` +
	`"nodeLabels":{"team":"a"},"nodeInitializationTaints":["karpenter.sh/unregistered:NoExecute"],"nodeTaints":[]},` +
	`"priority":"Regular","security":{"sshAccess":"LocalUser","enableEncryptionAtHost":false,"enableVTPM":false,` +
	`"enableSecureBoot":false},"tags":{"owner":"b"}}}`

// TestBodyOf compares bodies as they are sent: each case says what differs from the body of a class with defaults.
//
// Source: Azure provider specification, conformance vectors.
func TestBodyOf(t *testing.T) {
	t.Attr("covers", "Z151")
	for name, test := range map[string]struct {
		change func(*v1beta1.AKSNodeClassSpec, *aksmachine.Spec)
		want   []string
	}{
		"defaults": {func(*v1beta1.AKSNodeClassSpec, *aksmachine.Spec) {}, nil},
		"launch": {func(_ *v1beta1.AKSNodeClassSpec, s *aksmachine.Spec) {
			s.Zone, s.Spot, s.UltraSSD, s.EphemeralDisk, s.System = "0", true, true, true, true
		}, []string{
			`["1"]`, `[]`, `"Regular"`, `"Spot"`, `"ultraSsdEnabled":false`, `"ultraSsdEnabled":true`,
			`"Managed"`, `"Ephemeral"`, `"User"`, `"System"`,
		}},
		"driver of GPUs": {
			func(_ *v1beta1.AKSNodeClassSpec, s *aksmachine.Spec) { s.GPU = true },
			[]string{`"ultraSsdEnabled":false`, `"ultraSsdEnabled":false,"gpuProfile":{"driver":"Install"}`},
		},
		"no driver of GPUs": {func(c *v1beta1.AKSNodeClassSpec, s *aksmachine.Spec) {
			s.GPU, c.GPU = true, &v1beta1.GPU{Mode: v1beta1.GPUModeNone}
		}, []string{`"ultraSsdEnabled":false`, `"ultraSsdEnabled":false,"gpuProfile":{"driver":"None"}`}},
		"artifact streaming": {func(c *v1beta1.AKSNodeClassSpec, _ *aksmachine.Spec) {
			c.ArtifactStreaming = &v1beta1.ArtifactStreaming{Enabled: new(true)}
		}, []string{`"nodeTaints":[]`, `"nodeTaints":[],"artifactStreamingProfile":{"enabled":true}`}},
		"no artifact streaming": {func(c *v1beta1.AKSNodeClassSpec, s *aksmachine.Spec) {
			c.ArtifactStreaming, s.Architecture = &v1beta1.ArtifactStreaming{Enabled: new(true)}, "arm64"
		}, nil},
		"class": {func(c *v1beta1.AKSNodeClassSpec, _ *aksmachine.Spec) {
			c.VNETSubnetID, c.MaxPods = new("/subnet"), new(int32(50))
			c.Kubelet, c.LinuxOSConfig = &v1beta1.KubeletConfiguration{}, &v1beta1.LinuxOSConfiguration{}
			c.LocalDNS = &v1beta1.LocalDNS{Mode: v1beta1.LocalDNSModePreferred}
		}, []string{
			`"hardware"`, `"network":{"vnetSubnetID":"/subnet"},"hardware"`, `"nodeTaints":[]`,
			`"nodeTaints":[],"maxPods":50,"kubeletConfig":{}`, `"enableFIPS":false`,
			`"enableFIPS":false,"linuxProfile":{"linuxOSConfig":{}}`, `"priority"`, `"localDNSProfile":{"mode":"Disabled"},"priority"`,
		}},
		"security": {func(c *v1beta1.AKSNodeClassSpec, _ *aksmachine.Spec) {
			c.Security = &v1beta1.Security{
				EncryptionAtHost: new(true), TrustedLaunch: &v1beta1.TrustedLaunch{VTPM: new(true), SecureBoot: new(true)},
			}
		}, []string{`Host":false`, `Host":true`, `VTPM":false`, `VTPM":true`, `SecureBoot":false`, `SecureBoot":true`}},
		"FIPS": {func(c *v1beta1.AKSNodeClassSpec, s *aksmachine.Spec) {
			c.FIPSMode, s.Family = new(v1beta1.FIPSModeFIPS), family.Ubuntu2004
		}, []string{`"Ubuntu2404"`, `"Ubuntu"`, `"enableFIPS":false`, `"enableFIPS":true`}},
		"Ubuntu 22.04": {
			func(_ *v1beta1.AKSNodeClassSpec, s *aksmachine.Spec) { s.Family = family.Ubuntu2204 },
			[]string{`"Ubuntu2404"`, `"Ubuntu2204"`},
		},
		"Azure Linux": {
			func(_ *v1beta1.AKSNodeClassSpec, s *aksmachine.Spec) { s.Family = family.AzureLinux3 },
			[]string{`"Ubuntu2404"`, `"AzureLinux"`},
		},
	} {
		class, spec := &v1beta1.AKSNodeClass{}, spec()
		test.change(&class.Spec, &spec)
		body, err := aksmachine.BodyOf(class, &spec)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(decoded(t, strings.NewReplacer(test.want...).Replace(golden)), decoded(t, string(got))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	spec := spec()
	spec.Zone = "somewhere"
	if _, err := aksmachine.BodyOf(&v1beta1.AKSNodeClass{}, &spec); err == nil {
		t.Error("an unknown zone is accepted")
	}
}

func spec() aksmachine.Spec {
	return aksmachine.Spec{
		Zone: "westus2-1", Size: "Standard_D4s_v3", Architecture: "amd64", Family: family.Ubuntu2404,
		ImageVersion: "AKSUbuntu-2404gen2containerd-202606.10.0", KubernetesVersion: "1.34.1",
		Labels: map[string]string{"team": "a"}, Taints: []string{"karpenter.sh/unregistered:NoExecute"},
		Tags: map[string]string{"owner": "b"},
	}
}

func decoded(t *testing.T, data string) any {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(data), &value); err != nil {
		t.Fatal(err)
	}
	return value
}
