package sbom

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/tools/release/license"
	"github.com/karpenter-anew/karpenter/tools/release/program"
	"github.com/karpenter-anew/karpenter/tools/release/vendored"
)

func TestSBOMNamesEveryModule(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "program")
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", binary, "..")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, text)
	}
	p, err := program.Read(binary)
	if err != nil {
		t.Fatal(err)
	}
	modules, err := license.Linked(t.Context(), "..", ".", program.Platform{OS: p.OS, Architecture: p.Architecture})
	if err != nil {
		t.Fatal(err)
	}
	packages := []vendored.Package{{Component: license.Component{Name: "@a/b", Version: "3.2.1", Texts: mit(t)}, SHA256: "00ff"}}
	encoded, err := Encode(p, "it", "1.2.3", Materials{Modules: modules, Vendored: packages})
	if err != nil {
		t.Fatal(err)
	}
	var got cyclonedx.BOM
	decoder := cyclonedx.NewBOMDecoder(bytes.NewReader(encoded), cyclonedx.BOMFileFormatJSON)
	if err := decoder.Decode(&got); err != nil {
		t.Fatal(err)
	}
	text, err := exec.Command("go", "version", "-m", binary).Output()
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, c := range *got.Components {
		named[c.Name+" "+c.Version] = true
	}
	linked := 0
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); words[0] == "dep" {
			linked++
			if !named[words[1]+" "+words[2]] {
				t.Errorf("%s %s is missing", words[1], words[2])
			}
		}
	}
	needs := *(*got.Dependencies)[0].Dependencies
	if linked == 0 || len(*got.Components) != linked+2 || len(needs) != linked+2 {
		t.Errorf("%d components and %d dependencies for %d modules, the standard library and a vendored package", len(*got.Components), len(needs), linked)
	}
	for _, c := range *got.Components {
		if c.Licenses == nil || len(*c.Licenses) == 0 || (*c.Licenses)[0].License.ID == "" {
			t.Errorf("%s has no license", c.Name)
		}
	}
	checkVendored(t, (*got.Components)[linked+1])
	root := got.Metadata.Component
	if got.BOMFormat != "CycloneDX" || got.SpecVersion != cyclonedx.SpecVersion1_6 || root.Version != "1.2.3" || (*root.Hashes)[0].Value == "" {
		t.Errorf("it is %s %s of %+v", got.BOMFormat, got.SpecVersion, root)
	}
}

// checkVendored compares a component with the vendored package.
func checkVendored(t *testing.T, c cyclonedx.Component) {
	t.Helper()
	want := cyclonedx.Component{
		Type: cyclonedx.ComponentTypeLibrary, BOMRef: "npm:@a/b@3.2.1", Name: "@a/b", Version: "3.2.1", PackageURL: "pkg:npm/%40a/b@3.2.1",
		Hashes:   &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: "00ff"}},
		Licenses: &cyclonedx.Licenses{{License: &cyclonedx.License{ID: "MIT"}}},
	}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("the vendored package (-want, +got):\n%s", diff)
	}
}

// mit is a license file with the MIT license.
func mit(t *testing.T) []license.Text {
	t.Helper()
	content, err := os.ReadFile("../../../web/vendor/preact.LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	return []license.Text{{Path: "LICENSE", Content: content}}
}

func TestModuleWithoutCollectedLicenseIsRefused(t *testing.T) {
	p := program.Program{Build: &debug.BuildInfo{GoVersion: "go1.26.0", Deps: []*debug.Module{{Path: "example.com/m", Version: "v1.0.0"}}}}
	modules := []license.Component{{Name: license.StandardLibrary, Version: "1.26.0", Texts: mit(t)}}
	if _, err := Encode(p, "it", "1.2.3", Materials{Modules: modules}); err == nil || !strings.Contains(err.Error(), "example.com/m v1.0.0") {
		t.Errorf("error %v, want one that names the module", err)
	}
}

func TestPackageURL(t *testing.T) {
	for _, c := range []struct{ name, version, want string }{
		{"github.com/google/go-containerregistry", "v0.22.1", "pkg:golang/github.com/google/go-containerregistry@v0.22.1"},
		{"github.com/Masterminds/semver/v3", "v3.4.0", "pkg:golang/github.com/masterminds/semver/v3@v3.4.0"},
		{"github.com/a/b", "v2.0.0+incompatible", "pkg:golang/github.com/a/b@v2.0.0%2Bincompatible"},
		{"stdlib", "1.26.0", "pkg:golang/stdlib@1.26.0"},
	} {
		if got := packageURL(c.name, c.version); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}
