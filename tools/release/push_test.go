package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log" //nolint:depguard // The registry takes this logger.
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	helmregistry "helm.sh/helm/v4/pkg/registry"

	"github.com/karpenter-anew/karpenter/tools/release/archive"
)

// TestWhatIsPushedCanBePulled: Helm installs the charts, a container engine runs the image, and cosign's signatures are right.
func TestWhatIsPushedCanBePulled(t *testing.T) {
	sign(t)
	dist := makeRelease(t, newRepository(t))
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	push := &pushCommand{Dist: dist, Version: version, Registry: host + "/team"}
	if err := push.Run(t.Context()); err != nil {
		t.Fatal(err)
	}

	digest := checkImage(t, dist, host+"/team/karpenter:1.2.3")
	checkCosign(t, dist, host+"/team/karpenter", digest)
	controller := pull(t, host+"/team/charts/karpenter:1.2.3")
	manifests := render(t, controller, map[string]any{"settings": map[string]any{"cloudProvider": "kwok"}})
	if !strings.Contains(manifests, "image: ghcr.io/karpenter-anew/karpenter:1.2.3\n") && !strings.Contains(manifests, `image: "ghcr.io/karpenter-anew/karpenter:1.2.3"`) {
		t.Errorf("the chart does not run the image of the release:\n%s", manifests)
	}
	if len(controller.CRDObjects()) < 4 {
		t.Errorf("the chart has %d CRDs", len(controller.CRDObjects()))
	}
	annotations := controller.Metadata.Annotations
	for key, want := range map[string]string{
		"license": "Apache-2.0", "links": "url: https://github.com/karpenter-anew/karpenter", "images": "image: ghcr.io/karpenter-anew/karpenter:1.2.3",
		"crds": "name: nodepools.karpenter.sh", "changes": "kind: added", "prerelease": "false",
	} {
		if got := annotations["artifacthub.io/"+key]; !strings.Contains(got, want) {
			t.Errorf("the annotation %s is %q, without %q", key, got, want)
		}
	}
	crds := pull(t, host+"/team/charts/karpenter-crd:1.2.3")
	if manifests := render(t, crds, nil); !strings.Contains(manifests, "name: nodepools.karpenter.sh") {
		t.Errorf("the chart of CRDs lacks NodePools:\n%s", manifests)
	}
}

// checkImage pulls the image for both platforms, unpacks it, and returns the digest of the index.
func checkImage(t *testing.T, dist, reference string) v1.Hash {
	t.Helper()
	ref, err := name.ParseReference(reference)
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(ref)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	for _, platform := range []v1.Platform{{OS: "linux", Architecture: "amd64"}, {OS: "linux", Architecture: "arm64"}} {
		img, err := remote.Image(ref, remote.WithPlatform(platform))
		if err != nil {
			t.Fatal(err)
		}
		config, err := img.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if config.OS != platform.OS || config.Architecture != platform.Architecture || config.Config.Labels["org.opencontainers.image.revision"] == "" {
			t.Errorf("image for %s has %s/%s and labels %v", platform, config.OS, config.Architecture, config.Config.Labels)
		}
		folder := fmt.Sprintf("karpenter_1.2.3_linux_%s", platform.Architecture)
		want := unzip(t, read(t, dist, folder+".tar.gz"))[folder+"/karpenter"].Content
		root := mutate.Extract(img)
		entries, err := archive.Read(root)
		if err != nil {
			t.Fatal(err)
		}
		var got []byte
		for _, e := range entries {
			if e.Name == "karpenter" {
				got = e.Content
			}
		}
		if len(want) == 0 || !bytes.Equal(got, want) {
			t.Errorf("the image for %s does not contain the program of the archive", platform)
		}
	}
	digest, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

// checkCosign verifies the signature as cosign does: the payload names the digest, and the annotation is its signature.
func checkCosign(t *testing.T, dist, repository string, digest v1.Hash) {
	t.Helper()
	ref, err := name.ParseReference(repository + ":sha256-" + digest.Hex + ".sig")
	if err != nil {
		t.Fatal(err)
	}
	img, err := remote.Image(ref)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := img.Manifest()
	if err != nil || len(manifest.Layers) != 1 || manifest.Layers[0].MediaType != "application/vnd.dev.cosign.simplesigning.v1+json" {
		t.Fatalf("manifest %+v, %v", manifest, err)
	}
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	content, err := layers[0].Compressed()
	if err != nil {
		t.Fatal(err)
	}
	payload, err := io.ReadAll(content)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := base64.StdEncoding.DecodeString(manifest.Layers[0].Annotations["dev.cosignproject.cosign/signature"])
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(read(t, dist, product+".pub"))
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(payload); !ecdsa.VerifyASN1(key.(*ecdsa.PublicKey), sum[:], raw) {
		t.Error("the signature of the image is wrong")
	}
	var signed struct {
		Critical struct {
			Identity, Image map[string]string
			Type            string
		}
	}
	if err := json.Unmarshal(payload, &signed); err != nil {
		t.Fatal(err)
	}
	if c := signed.Critical; c.Image["docker-manifest-digest"] != digest.String() || c.Identity["docker-reference"] != repository || c.Type != "cosign container image signature" {
		t.Errorf("signed is %s", payload)
	}
}

// pull has Helm pull a chart.
func pull(t *testing.T, reference string) *chartv2.Chart {
	t.Helper()
	client, err := helmregistry.NewClient(helmregistry.ClientOptPlainHTTP(), helmregistry.ClientOptWriter(io.Discard),
		helmregistry.ClientOptCredentialsFile(filepath.Join(t.TempDir(), "credentials.json")))
	if err != nil {
		t.Fatal(err)
	}
	pulled, err := client.Pull(reference)
	if err != nil {
		t.Fatal(err)
	}
	if pulled.Chart.Meta.Version != version || pulled.Chart.Meta.AppVersion != version {
		t.Errorf("the registry describes %s as %+v", reference, pulled.Chart.Meta)
	}
	out, err := loader.LoadArchive(bytes.NewReader(pulled.Chart.Data))
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Validate(); err != nil {
		t.Error(err)
	}
	if out.Metadata.Icon == "" || out.Metadata.Version != version || out.Metadata.AppVersion != version {
		t.Errorf("the chart is %+v", out.Metadata)
	}
	return out
}

// render has Helm render a chart, with notes.
func render(t *testing.T, c *chartv2.Chart, values map[string]any) string {
	t.Helper()
	options := common.ReleaseOptions{Name: c.Name(), Namespace: "kube-system", Revision: 1, IsInstall: true}
	all, err := util.ToRenderValues(c, values, options, common.DefaultCapabilities)
	if err != nil {
		t.Fatal(err)
	}
	files, err := engine.Render(c, all)
	if err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(files[c.Name()+"/templates/NOTES.txt"]) == "" {
		t.Errorf("the chart %s has no notes", c.Name())
	}
	var out strings.Builder
	for _, text := range files {
		out.WriteString(text)
	}
	return out.String()
}

func TestPushIsRefused(t *testing.T) {
	for registry, want := range map[string]string{
		"https://ghcr.io/team": "without https://",
		"127.0.0.1:1":          "SHA256SUMS", // there is no release
	} {
		err := (&pushCommand{Dist: t.TempDir(), Version: version, Registry: registry}).Run(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", registry, err, want)
		}
	}
}
