package family_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/cloud/azure/family"
)

// class is one with a spec in JSON.
func class(t *testing.T, spec string) *v1beta1.AKSNodeClass {
	t.Helper()
	out := &v1beta1.AKSNodeClass{}
	if err := json.Unmarshal([]byte(spec), &out.Spec); err != nil {
		t.Fatal(err)
	}
	return out
}

const (
	fips    = `"fipsMode": "FIPS"`
	trusted = `"security": {"trustedLaunch": {"vtpm": true}}`
)

// TestDefinitions holds the images of a class against those that AKS publishes.
//
// Source: Azure provider specification, conformance vectors.
func TestDefinitions(t *testing.T) {
	t.Attr("covers", "Z115 Z117")
	for _, test := range []struct {
		family, kubernetes string
		more               []string
		// shared is "yes", "no" or "any".
		shared, want string
	}{
		{"", "1.33.4", nil, "any", "2204gen2containerd 2204containerd 2204gen2arm64containerd"},
		{"Ubuntu", "1.33.4", nil, "any", "2204gen2containerd 2204containerd 2204gen2arm64containerd"},
		{"Ubuntu", "1.34.0", nil, "any", "2404gen2containerd 2404containerd 2404gen2arm64containerd"},
		{"Ubuntu", "1.35.0-rc.1", nil, "any", "2404gen2containerd 2404containerd 2404gen2arm64containerd"},
		{"Ubuntu", "1.34.0", []string{trusted}, "any", "2204gen2TLcontainerd"},
		{"Ubuntu", "1.30.0", []string{fips}, "yes", "2004gen2fipscontainerd 2004fipscontainerd"},
		{"Ubuntu", "1.36.0", []string{fips}, "yes", "2004gen2fipscontainerd 2004fipscontainerd"},
		{"Ubuntu", "1.34.0", []string{fips, trusted}, "yes", "2204gen2fipsTLcontainerd"},
		{"Ubuntu", "1.34.0", []string{fips}, "no", ""},
		{"Ubuntu", "1.34.0", []string{fips, trusted}, "no", ""},
		{"Ubuntu2204", "1.34.0", nil, "any", "2204gen2containerd 2204containerd 2204gen2arm64containerd"},
		{"Ubuntu2204", "1.34.0", []string{fips, trusted}, "yes", "2204gen2fipsTLcontainerd"},
		{"Ubuntu2204", "1.34.0", []string{fips}, "yes", ""},
		{"Ubuntu2404", "1.33.4", nil, "any", "2404gen2containerd 2404containerd 2404gen2arm64containerd"},
		{"Ubuntu2404", "1.33.4", []string{trusted}, "any", "2404gen2TLcontainerd"},
		{"Ubuntu2404", "1.33.4", []string{fips}, "yes", ""},
		{"Ubuntu2404", "1.33.4", []string{fips, trusted}, "yes", ""},
		{"AzureLinux", "1.31.9", nil, "any", "V2gen2 V2 V2gen2arm64"},
		{"AzureLinux", "1.31.9", []string{trusted}, "any", "V2gen2TL"},
		{"AzureLinux", "1.31.9", []string{fips}, "yes", "V2gen2fips V2fips"},
		{"AzureLinux", "1.32.0", nil, "any", "V3gen2 V3 V3gen2arm64"},
		{"AzureLinux", "1.32.0", []string{trusted}, "any", "V3gen2TL"},
		{"AzureLinux", "1.32.0", []string{fips}, "yes", "V3gen2fips V3fips V3gen2arm64fips"},
		{"AzureLinux", "1.32.0", []string{fips}, "no", ""},
		{"AzureLinux", "1.32.0", []string{fips, trusted}, "yes", ""},
	} {
		fields := slices.Clone(test.more)
		if test.family != "" {
			fields = append(fields, `"imageFamily": "`+test.family+`"`)
		}
		c := class(t, "{"+strings.Join(fields, ", ")+"}")
		f, err := family.Of(c, test.kubernetes)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, shared := range []bool{false, true} {
			if test.shared == "yes" && !shared || test.shared == "no" && shared {
				continue
			}
			var got []string
			for _, d := range f.Definitions(c.FIPS(), c.TrustedLaunch(), shared) {
				got = append(got, d.Name)
				checkDefinition(t, d)
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("%s %s %s, shared %v: %s has %q, want %q", test.family, test.kubernetes, test.more, shared, f, got, test.want)
			}
		}
	}
}

// checkDefinition checks that what a definition requires is what its name says.
func checkDefinition(t *testing.T, d family.Definition) {
	t.Helper()
	generation, arch := "1", "amd64"
	if strings.Contains(d.Name, "gen2") {
		generation = "2"
	}
	if strings.Contains(d.Name, "arm64") {
		arch = "arm64"
	}
	if d.HyperVGeneration != generation || d.Arch != arch {
		t.Errorf("%s is for %s, generation %s", d.Name, d.Arch, d.HyperVGeneration)
	}
	for name, distro := range map[string]string{"gen2": "-gen2", "arm64": "-arm64", "fips": "-fips", "TL": "-tl"} {
		if strings.Contains(d.Name, name) != strings.Contains(d.Distro, distro) {
			t.Errorf("%s has the distro %s", d.Name, d.Distro)
		}
	}
	if got, ok := family.Distro(d.Name); !ok || got != d.Distro {
		t.Errorf("the distro of %s is %q, %v", d.Name, got, ok)
	}
}

// TestDistros pins names that another service knows.
func TestDistros(t *testing.T) {
	for definition, want := range map[string]string{
		"2004gen2fipscontainerd": "aks-ubuntu-fips-containerd-20.04-gen2", "2204gen2arm64containerd": "aks-ubuntu-arm64-containerd-22.04-gen2",
		"2204gen2fipsTLcontainerd": "aks-ubuntu-fips-containerd-22.04-tl-gen2", "2404containerd": "aks-ubuntu-containerd-24.04", "V2fips": "aks-azurelinux-v2-fips",
		"V2gen2TL": "aks-azurelinux-v2-gen2-tl", "V3gen2arm64fips": "aks-azurelinux-v3-arm64-gen2-fips", "V3": "aks-azurelinux-v3",
	} {
		if got, ok := family.Distro(definition); !ok || got != want {
			t.Errorf("Distro(%q) = %q, %v, want %q", definition, got, ok, want)
		}
	}
	if got, ok := family.Distro("v3"); ok {
		t.Errorf("an unknown definition has the distro %q", got)
	}
}

func TestOfFails(t *testing.T) {
	for spec, version := range map[string]string{`{"imageFamily": "Windows2022"}`: "1.34.0", `{}`: "", `{"imageFamily": "AzureLinux"}`: "latest"} {
		if f, err := family.Of(class(t, spec), version); err == nil {
			t.Errorf("%s, version %q: %s", spec, version, f)
		}
	}
}

// TestOSSKU checks labels of nodes.
func TestOSSKU(t *testing.T) {
	for f, want := range map[family.Family][2]string{
		family.Ubuntu2004: {"Ubuntu", "Ubuntu"}, family.Ubuntu2204: {"Ubuntu", "Ubuntu2204"}, family.Ubuntu2404: {"Ubuntu", "Ubuntu2404"},
		family.AzureLinux2: {"AzureLinux", "AzureLinux2"}, family.AzureLinux3: {"AzureLinux", "AzureLinux3"},
	} {
		if f.OSSKU() != want[0] || f.EffectiveOSSKU() != want[1] {
			t.Errorf("%s has the labels %s and %s, want %s", f, f.OSSKU(), f.EffectiveOSSKU(), want)
		}
	}
}

// TestDefinitionsAreCopies checks that callers cannot change the table.
func TestDefinitionsAreCopies(t *testing.T) {
	family.Ubuntu2204.Definitions(false, false, false)[0].Name = "changed"
	if got := family.Ubuntu2204.Definitions(false, false, false)[0].Name; got != "2204gen2containerd" {
		t.Errorf("the table now has %s", got)
	}
}
