package v1beta1_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
)

// derived is what follows from a spec.
type derived struct {
	Disk                                            int32
	Family                                          string
	FIPS, EncryptionAtHost, VTPM, SecureBoot, Trust bool
	GPU                                             v1beta1.GPUMode
	Driver, StreamsAMD64, StreamsARM64, AsksStreams bool
}

func TestPredicates(t *testing.T) {
	absent := derived{Disk: 128, Family: "Ubuntu", GPU: "Driver", Driver: true}
	with := func(change func(*derived)) derived {
		d := absent
		change(&d)
		return d
	}
	for spec, want := range map[string]derived{
		`{}`:                                           absent,
		`{"osDiskSizeGB":30}`:                          with(func(d *derived) { d.Disk = 30 }),
		`{"imageFamily":"AzureLinux"}`:                 with(func(d *derived) { d.Family = "AzureLinux" }),
		`{"fipsMode":"Disabled"}`:                      absent,
		`{"fipsMode":"FIPS"}`:                          with(func(d *derived) { d.FIPS = true }),
		`{"security":{}}`:                              absent,
		`{"security":{"trustedLaunch":{}}}`:            absent,
		`{"security":{"encryptionAtHost":false}}`:      absent,
		`{"security":{"encryptionAtHost":true}}`:       with(func(d *derived) { d.EncryptionAtHost = true }),
		`{"security":{"trustedLaunch":{"vtpm":true}}}`: with(func(d *derived) { d.VTPM, d.Trust = true, true }),
		`{"security":{"trustedLaunch":{"secureBoot":true,"vtpm":false}}}`:  with(func(d *derived) { d.SecureBoot, d.Trust = true, true }),
		`{"security":{"trustedLaunch":{"secureBoot":false,"vtpm":false}}}`: absent,
		`{"gpu":{}}`:                              absent,
		`{"gpu":{"mode":"Driver"}}`:               absent,
		`{"gpu":{"mode":"None"}}`:                 with(func(d *derived) { d.GPU, d.Driver = "None", false }),
		`{"artifactStreaming":{}}`:                absent,
		`{"artifactStreaming":{"enabled":false}}`: absent,
		`{"artifactStreaming":{"enabled":true}}`:  with(func(d *derived) { d.StreamsAMD64, d.AsksStreams = true, true }),
	} {
		class := &v1beta1.AKSNodeClass{}
		if err := json.Unmarshal([]byte(spec), &class.Spec); err != nil {
			t.Fatal(err)
		}
		got := derived{
			class.OSDiskSizeGB(), class.ImageFamily(), class.FIPS(), class.EncryptionAtHost(), class.VTPM(), class.SecureBoot(), class.TrustedLaunch(),
			class.GPUMode(), class.InstallsGPUDriver(), class.StreamsArtifacts("amd64"), class.StreamsArtifacts("arm64"), class.RequestsArtifactStreaming(),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", spec, diff)
		}
	}
}

// TestResolvedLocalDNS checks that the mode Preferred is replaced by what it was resolved to, in a copy.
func TestResolvedLocalDNS(t *testing.T) {
	for _, test := range []struct {
		mode  v1beta1.LocalDNSMode
		state v1beta1.LocalDNSState
		want  v1beta1.LocalDNSMode
	}{
		{v1beta1.LocalDNSModePreferred, v1beta1.LocalDNSStateEnabled, v1beta1.LocalDNSModeRequired},
		{v1beta1.LocalDNSModePreferred, v1beta1.LocalDNSStateDisabled, v1beta1.LocalDNSModeDisabled},
		{v1beta1.LocalDNSModePreferred, "", v1beta1.LocalDNSModeDisabled},
		{v1beta1.LocalDNSModeRequired, "", v1beta1.LocalDNSModeRequired},
		{v1beta1.LocalDNSModeDisabled, v1beta1.LocalDNSStateEnabled, v1beta1.LocalDNSModeDisabled},
	} {
		class := &v1beta1.AKSNodeClass{}
		class.Status.LocalDNSState = test.state
		class.Spec.LocalDNS = &v1beta1.LocalDNS{Mode: test.mode, KubeDNSOverrides: []v1beta1.LocalDNSZoneOverride{{Zone: "."}}}
		got := class.ResolvedLocalDNS()
		if got.Mode != test.want || len(got.KubeDNSOverrides) != 1 {
			t.Errorf("%s, state %q: resolved to %v, want %s", test.mode, test.state, got, test.want)
		}
		if got.KubeDNSOverrides[0].Zone = "changed"; class.Spec.LocalDNS.Mode != test.mode || class.Spec.LocalDNS.KubeDNSOverrides[0].Zone != "." {
			t.Error("the spec was changed")
		}
		if class.LocalDNSEnabled() != (test.state == "Enabled") {
			t.Errorf("state %q: enabled is %v", test.state, class.LocalDNSEnabled())
		}
	}
	if got := (&v1beta1.AKSNodeClass{}).ResolvedLocalDNS(); got != nil {
		t.Errorf("without a configuration: %v", got)
	}
}

func TestInvalidSysctls(t *testing.T) {
	valid := []string{"net.core.somaxconn", "kernel.shm*", "net.*", "*", "net/ipv4/ip_forward", "net.ipv4.conf.eth0/100.rp_filter", "a-b_c", strings.Repeat("a", 253)}
	invalid := []string{"", " ", "kernel.msg max", "kernel.msg* --v=9", "a,b", "Net.core", "net..core", ".net", "net.", "a*b", "**", "$(a)", "a\n", strings.Repeat("a", 254)}
	class := &v1beta1.AKSNodeClass{}
	if got := class.InvalidSysctls(); got != nil {
		t.Errorf("without any: %q", got)
	}
	class.Spec.Kubelet = &v1beta1.KubeletConfiguration{AllowedUnsafeSysctls: slices.Concat(valid, invalid)}
	if got := class.InvalidSysctls(); !slices.Equal(got, invalid) {
		t.Errorf("invalid are %q, want %q", got, invalid)
	}
}
