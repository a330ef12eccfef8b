package main

import (
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/karpenter-anew/karpenter/tools/release/archive"
	"github.com/karpenter-anew/karpenter/tools/release/checksum"
)

const version = "1.2.3"

// sign puts a new key into the environment.
func sign(t *testing.T) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(keyVariable, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})))
}

// makeRelease makes the release of a working tree and returns its folder.
func makeRelease(t *testing.T, repository string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "release")
	if err := (&buildCommand{Root: repository, Version: version, Out: out}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return out
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	found, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range found {
		out = append(out, f.Name())
	}
	return out
}

func TestSameCommitGivesSameBytes(t *testing.T) {
	sign(t)
	first := newRepository(t)
	second := filepath.Join(t.TempDir(), "clone")
	git(t, first, "clone", "--quiet", "--depth=1", "file://"+first, second)
	git(t, second, "tag", "v1.2.3")
	write(t, filepath.Join(second, "charts", product, "left.ignored"), "not of the commit")
	one := makeRelease(t, first)
	t.Setenv("GOFLAGS", "-buildvcs=false -tags=other") // as every setting of the environment, it must not count
	t.Setenv("GOAMD64", "v3")
	other := makeRelease(t, second)
	list := names(t, one)
	if !slices.Equal(list, names(t, other)) {
		t.Errorf("the files are %q and %q", list, names(t, other))
	}
	for _, name := range list {
		if !bytes.Equal(read(t, one, name), read(t, other, name)) {
			t.Errorf("%s differs", name)
		}
	}
	const want = "SHA256SUMS SHA256SUMS.sig karpenter-1.2.3.tgz karpenter-crd-1.2.3.tgz karpenter.pub karpenter.rb karpenter_1.2.3_darwin_amd64.cdx.json " +
		"karpenter_1.2.3_darwin_amd64.tar.gz karpenter_1.2.3_darwin_arm64.cdx.json karpenter_1.2.3_darwin_arm64.tar.gz karpenter_1.2.3_image.tar " +
		"karpenter_1.2.3_krew.yaml karpenter_1.2.3_linux_amd64.cdx.json karpenter_1.2.3_linux_amd64.tar.gz karpenter_1.2.3_linux_arm64.cdx.json " +
		"karpenter_1.2.3_linux_arm64.tar.gz karpenter_1.2.3_provenance.intoto.jsonl karpenter_1.2.3_provenance.json karpenter_1.2.3_schemas.tar.gz"
	if got := strings.Join(list, " "); got != want {
		t.Errorf("the files are\n%s\nwant\n%s", got, want)
	}
	checkSignature(t, one)
	checkDownloads(t, one)
	checkKrew(t, one)
}

// checkKrew has krew install the plugin for this platform, and runs it.
func checkKrew(t *testing.T, dir string) {
	t.Helper()
	home := t.TempDir()
	install := exec.Command("go", "-C", filepath.Join(root, "tools", "krew"), "tool", "krew", "install", "--manifest="+filepath.Join(dir, "karpenter_1.2.3_krew.yaml"),
		"--archive="+filepath.Join(dir, "karpenter_1.2.3_linux_"+runtime.GOARCH+".tar.gz"))
	install.Env = append(os.Environ(), "KREW_ROOT="+home, "KREW_OS=linux", "KREW_ARCH="+runtime.GOARCH, "GOFLAGS=")
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", install, err, out)
	}
	out, err := exec.Command(filepath.Join(home, "bin", "kubectl-karpenter"), "version").CombinedOutput()
	if got := string(out); err != nil || got != "stub 1.2.3 version\n" {
		t.Errorf("the installed plugin answers %q: %v", got, err)
	}
}

// checkSignature verifies the signature of the checksums with the public key, and the checksums.
func checkSignature(t *testing.T, dir string) {
	t.Helper()
	block, _ := pem.Decode(read(t, dir, product+".pub"))
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(read(t, dir, "SHA256SUMS.sig"))))
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(read(t, dir, "SHA256SUMS")); !ecdsa.VerifyASN1(key.(*ecdsa.PublicKey), sum[:], raw) {
		t.Error("the signature is wrong")
	}
	files, err := checksum.Verify(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names(t, dir) {
		if _, ok := files[name]; !ok && !strings.HasPrefix(name, checksum.File) {
			t.Errorf("%s has no checksum", name)
		}
	}
	for _, name := range []string{"karpenter-1.2.3.tgz", "karpenter_1.2.3_image.tar", "karpenter_1.2.3_darwin_arm64.tar.gz"} {
		if !strings.Contains(string(files["karpenter_1.2.3_provenance.json"]), checksum.Of(files[name])) {
			t.Errorf("the provenance lacks %s", name)
		}
	}
}

// checkDownloads compares the manifests of package managers with the archives.
func checkDownloads(t *testing.T, dir string) {
	t.Helper()
	var plugin struct {
		Metadata struct{ Name string }
		Spec     struct {
			Version   string
			Platforms []struct {
				URI, SHA256, Bin string
				Files            []struct{ From, To string }
				Selector         struct{ MatchLabels map[string]string }
			}
		}
	}
	if err := yaml.Unmarshal(read(t, dir, "karpenter_1.2.3_krew.yaml"), &plugin); err != nil {
		t.Fatal(err)
	}
	if plugin.Metadata.Name != "karpenter" || plugin.Spec.Version != "v1.2.3" || len(plugin.Spec.Platforms) != 4 {
		t.Errorf("plugin %+v", plugin)
	}
	formula := string(read(t, dir, "karpenter.rb"))
	for _, p := range plugin.Spec.Platforms {
		name := filepath.Base(p.URI)
		if p.URI != "https://github.com/karpenter-anew/karpenter/releases/download/v1.2.3/"+name || checksum.Of(read(t, dir, name)) != p.SHA256 {
			t.Errorf("%s does not have the digest %s", p.URI, p.SHA256)
		}
		if !strings.Contains(formula, "      url \""+p.URI+"\"\n      sha256 \""+p.SHA256+"\"\n") {
			t.Errorf("the formula lacks %s", p.URI)
		}
		have := unzip(t, read(t, dir, name))
		for _, f := range p.Files {
			if _, ok := have[f.From]; !ok {
				t.Errorf("%s lacks %s", name, f.From)
			}
		}
		folder := strings.TrimSuffix(name, ".tar.gz") + "/"
		if program := have[folder+p.Bin]; program.Mode != 0o755 || len(program.Content) == 0 {
			t.Errorf("%s lacks the program %s", name, p.Bin)
		}
		for file, want := range map[string]string{
			"LICENSE": "Apache License", "THIRD-PARTY-NOTICES.txt": "\npreact ", "README.md": "# Karpenter", "completions/karpenter.bash": "stub 1.2.3 completion bash\n",
			"completions/_karpenter": "stub 1.2.3 completion zsh\n", "completions/karpenter.fish": "stub 1.2.3 completion fish\n",
		} {
			if got := have[folder+file]; !strings.Contains(string(got.Content), want) || got.Mode != 0o644 {
				t.Errorf("%s: %s has mode %o and lacks %q", name, file, got.Mode, want)
			}
		}
	}
}

func unzip(t *testing.T, content []byte) map[string]archive.Entry {
	t.Helper()
	unzipped, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	entries, err := archive.Read(unzipped)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]archive.Entry{}
	for _, e := range entries {
		out[e.Name] = e
	}
	return out
}

func TestReleaseIsRefused(t *testing.T) {
	repository := newRepository(t)
	for name, c := range map[string]struct {
		prepare func(c *buildCommand)
		want    string
	}{
		"from a changed tree": {func(*buildCommand) { write(t, filepath.Join(repository, "README.md"), "changed") }, "README.md"},
		"into a folder with something else": {func(c *buildCommand) {
			c.Out = filepath.Join(t.TempDir(), "full")
			write(t, filepath.Join(c.Out, "file"), "kept")
		}, "contains something else than a release"},
		"with a wrong key": {func(*buildCommand) { t.Setenv(keyVariable, "secret") }, keyVariable + ": it is not in PEM"},
	} {
		command := &buildCommand{Root: repository, Version: version, Out: filepath.Join(t.TempDir(), "release")}
		t.Setenv(keyVariable, "")
		c.prepare(command)
		if err := command.Run(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
}

func TestVersions(t *testing.T) {
	for text, want := range map[Version]bool{
		"1.2.3": true, "0.1.0-rc.1": true, "v1.2.3": false, "1.2": false, "1.2.3+build": false, "": false, "latest": false,
	} {
		if err := text.Validate(); (err == nil) != want {
			t.Errorf("%q: %v", string(text), err)
		}
	}
}

// TestImageOfAWorkingTree: "make image" serves development, so the tree may have changes.
func TestImageOfAWorkingTree(t *testing.T) {
	repository, out := newRepository(t), filepath.Join(t.TempDir(), "dist")
	write(t, filepath.Join(repository, "cmd", product, "main.go"), strings.Replace(stub, "stub ", "changed stub ", 1))
	if err := (&imageCommand{Root: repository, Version: version, Arch: "arm64", Out: out}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	layout, err := archive.Read(bytes.NewReader(read(t, out, "karpenter-linux-arm64.tar")))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(layout, func(e archive.Entry) bool {
		return e.Name == "index.json" && bytes.Contains(e.Content, []byte(`"architecture": "arm64"`)) && bytes.Contains(e.Content, []byte(version))
	}) {
		t.Error("the archive is no OCI layout of an image for arm64")
	}
	if !bytes.Contains(read(t, out, "karpenter-linux-arm64"), []byte("changed stub ")) {
		t.Error("the program lacks the change")
	}
	if materials := read(t, out, "karpenter-linux-arm64.cdx.json"); !bytes.Contains(materials, []byte("CycloneDX")) || !bytes.Contains(materials, []byte("pkg:npm/preact@")) {
		t.Errorf("there is no SBOM with vendored packages: %s", materials)
	}
}
