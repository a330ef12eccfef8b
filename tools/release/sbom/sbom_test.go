package sbom

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"

	"github.com/karpenter-anew/karpenter/tools/release/program"
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
	encoded, err := Encode(p, "it", "1.2.3")
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
	modules := 0
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); words[0] == "dep" {
			modules++
			if !named[words[1]+" "+words[2]] {
				t.Errorf("%s %s is missing", words[1], words[2])
			}
		}
	}
	needs := *(*got.Dependencies)[0].Dependencies
	if modules == 0 || len(*got.Components) != modules+1 || len(needs) != modules+1 {
		t.Errorf("%d components and %d dependencies for %d modules and the standard library", len(*got.Components), len(needs), modules)
	}
	root := got.Metadata.Component
	if got.BOMFormat != "CycloneDX" || got.SpecVersion != cyclonedx.SpecVersion1_6 || root.Version != "1.2.3" || (*root.Hashes)[0].Value == "" {
		t.Errorf("it is %s %s of %+v", got.BOMFormat, got.SpecVersion, root)
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
