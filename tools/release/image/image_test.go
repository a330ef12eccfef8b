package image

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

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/karpenter-anew/karpenter/tools/release/archive"
	"github.com/karpenter-anew/karpenter/tools/release/program"
)

// build builds a program for Linux, linked statically.
func build(t *testing.T, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":  "module example.com/it\n\ngo 1.26.0\n",
		"main.go": "package main\n\nfunc main() { println(1) }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", append(append([]string{"build", "-trimpath", "-buildvcs=false"}, flags...), "-o", "it", ".")...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, text)
	}
	return filepath.Join(dir, "it")
}

// made returns the OCI layout with the image of a program.
func made(t *testing.T, binary string) []byte {
	t.Helper()
	p, err := program.Read(binary)
	if err != nil {
		t.Fatal(err)
	}
	img, err := Pack(p, "it", "1.2.3", map[string][]byte{"LICENSE": []byte("terms")})
	if err != nil {
		t.Fatal(err)
	}
	out, err := ImageLayout(img, "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTheSameProgramGivesTheSameBytes(t *testing.T) {
	first := build(t)
	second := build(t) // elsewhere
	if err := os.Chtimes(second, time.Time{}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(content(t, first), content(t, second)) {
		t.Error("the programs differ")
	}
	if !bytes.Equal(made(t, first), made(t, second)) {
		t.Error("the images differ")
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

// unpacked reads the one image of an OCI layout.
func unpacked(t *testing.T, text []byte) v1.Image {
	t.Helper()
	index, err := unpack(text, t.TempDir())
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
	img := unpacked(t, made(t, binary))
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
	if terms := have["licenses/LICENSE"]; string(terms.text) != "terms" || terms.header.Mode != 0o444 {
		t.Errorf("the license is %q", terms.text)
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
	if len(have) != 10 {
		t.Errorf("%d files and folders, want 10", len(have))
	}
}

func TestDynamicallyLinkedProgramIsRefused(t *testing.T) {
	if _, err := program.Read(build(t, "-buildmode=pie")); err == nil || !strings.Contains(err.Error(), "CGO_ENABLED=0") {
		t.Errorf("error %v, want one that says what to do", err)
	}
}

func TestProgramsOfOtherSystemsAreRefused(t *testing.T) {
	if _, err := Pack(program.Program{OS: "darwin"}, "it", "1.2.3", nil); err == nil || !strings.Contains(err.Error(), "GOOS=linux") {
		t.Errorf("error %v, want one that says what to do", err)
	}
}

func TestLayoutStaysInItsFolder(t *testing.T) {
	var out bytes.Buffer
	if err := archive.Tar(&out, []archive.Entry{{Name: "../outside", Content: []byte("x")}}, time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "inside")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadIndex(out.Bytes(), dir); err == nil {
		t.Error("a name that leads out of the folder is accepted")
	}
	if _, err := os.Stat(filepath.Join(dir, "..", "outside")); err == nil {
		t.Error("a file was written outside")
	}
}
