package main

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// build builds this program for Linux, linked statically.
func build(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", path, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, text)
	}
	return path
}

// made builds an image of a program and returns the paths of the archive and the SBOM.
func made(t *testing.T, binary string) (out, sbom string) {
	t.Helper()
	dir := t.TempDir()
	o := options{binary: binary, name: "it", version: "1.2.3", out: filepath.Join(dir, "it.tar"), sbom: filepath.Join(dir, "it.json")}
	if _, err := o.build(); err != nil {
		t.Fatal(err)
	}
	return o.out, o.sbom
}

func TestTheSameProgramGivesTheSameBytes(t *testing.T) {
	first := build(t)
	out, sbom := made(t, first)
	second := build(t) // elsewhere
	if err := os.Chtimes(second, time.Time{}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	otherOut, otherSBOM := made(t, second)
	for _, pair := range [][2]string{{first, second}, {out, otherOut}, {sbom, otherSBOM}} {
		if !bytes.Equal(content(t, pair[0]), content(t, pair[1])) {
			t.Errorf("%s and %s differ", pair[0], pair[1])
		}
	}
}

func content(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// unpacked reads the one image of an archive.
func unpacked(t *testing.T, path string) v1.Image {
	t.Helper()
	dir := t.TempDir()
	for name, file := range files(t, bytes.NewReader(content(t, path))) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if file.header.Typeflag == tar.TypeReg {
			if err := os.WriteFile(filepath.Join(dir, name), file.text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		t.Fatalf("%d images, %v; want one", len(manifest.Manifests), err)
	}
	only := manifest.Manifests[0]
	if only.Annotations["org.opencontainers.image.ref.name"] != "1.2.3" || only.Platform.String() != "linux/"+runtime.GOARCH {
		t.Errorf("the image is %v for %s", only.Annotations, only.Platform)
	}
	img, err := index.Image(only.Digest)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

type inTar struct {
	header *tar.Header
	text   []byte
}

func files(t *testing.T, from io.Reader) map[string]inTar {
	t.Helper()
	out := map[string]inTar{}
	r := tar.NewReader(from)
	for {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		out[header.Name] = inTar{header, text}
	}
}

func TestImageHasTheProgramAndCertificates(t *testing.T) {
	binary := build(t)
	out, _ := made(t, binary)
	img := unpacked(t, out)
	if err := validate.Image(img); err != nil {
		t.Error(err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if c := config.Config; c.User != "65532:65532" || strings.Join(c.Entrypoint, " ") != "/it" || strings.Join(c.Cmd, " ") != "controller" {
		t.Errorf("it runs %v %v as %s", c.Entrypoint, c.Cmd, c.User)
	}
	root := mutate.Extract(img)
	defer root.Close()
	have := files(t, root)
	if program := have["it"]; !bytes.Equal(program.text, content(t, binary)) || program.header.Mode != 0o555 {
		t.Errorf("the program is not the one that was built, or has mode %o", program.header.Mode)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(have[certificates].text) {
		t.Error("there are no certificates")
	}
	for name, file := range have {
		if file.header.Uid != 0 || file.header.Gid != 0 || (file.header.Mode&0o022 != 0 && name != "tmp") {
			t.Errorf("%s is %d:%d with mode %o", name, file.header.Uid, file.header.Gid, file.header.Mode)
		}
	}
	if len(have) != 8 {
		t.Errorf("%d files and folders, want 8", len(have))
	}
}

func TestDynamicallyLinkedProgramIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program")
	cmd := exec.Command("go", "build", "-buildmode=pie", "-o", path, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, text)
	}
	if _, err := readProgram(path); err == nil || !strings.Contains(err.Error(), "CGO_ENABLED=0") {
		t.Errorf("error %v, want one that says what to do", err)
	}
}

func TestSBOMNamesEveryModule(t *testing.T) {
	binary := build(t)
	_, sbom := made(t, binary)
	var got cyclonedx.BOM
	decoder := cyclonedx.NewBOMDecoder(bytes.NewReader(content(t, sbom)), cyclonedx.BOMFileFormatJSON)
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
