// Package image makes container images of programs without a container engine: a layer with CA certificates and users, and one with the
// program. The same program gives the same bytes.
package image

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"

	"github.com/karpenter-anew/karpenter/tools/release/archive"
	"github.com/karpenter-anew/karpenter/tools/release/program"
)

// nonRoot is the user and group ID of the program, as in distroless images.
const nonRoot = "65532"

// certificates is where Go looks for CA certificates.
const certificates = "etc/ssl/certs/ca-certificates.crt"

// Pack makes the image of a program for Linux: a layer with users, certificates and /tmp, and a layer with the program and its licenses,
// which are the contents of files by their names in /licenses.
func Pack(p program.Program, name, version string, licenses map[string][]byte) (v1.Image, error) {
	if p.OS != "linux" {
		return nil, fmt.Errorf("the program is built for %s: build it with GOOS=linux", p.OS)
	}
	system, err := layer([]archive.Entry{
		{Name: "etc/", Mode: 0o755},
		{Name: "etc/group", Mode: 0o644, Content: []byte("root:x:0:\nnonroot:x:" + nonRoot + ":\n")},
		{Name: "etc/passwd", Mode: 0o644, Content: []byte("root:x:0:0:root:/:/sbin/nologin\nnonroot:x:" + nonRoot + ":" + nonRoot + ":nonroot:/:/sbin/nologin\n")},
		{Name: "etc/ssl/", Mode: 0o755},
		{Name: "etc/ssl/certs/", Mode: 0o755},
		{Name: certificates, Mode: 0o644, Content: authorities()},
		{Name: "tmp/", Mode: 0o1777},
	})
	if err != nil {
		return nil, err
	}
	own := []archive.Entry{{Name: name, Mode: 0o555, Content: p.Content}, {Name: "licenses/", Mode: 0o755}}
	for _, file := range slices.Sorted(maps.Keys(licenses)) {
		own = append(own, archive.Entry{Name: "licenses/" + file, Mode: 0o444, Content: licenses[file]})
	}
	executable, err := layer(own)
	if err != nil {
		return nil, err
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if img, err = mutate.AppendLayers(img, system, executable); err != nil {
		return nil, err
	}
	file, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Created = "linux", p.Architecture, v1.Time{Time: p.Time}
	file.Config = v1.Config{
		User: nonRoot + ":" + nonRoot, WorkingDir: "/", Entrypoint: []string{"/" + name}, Cmd: []string{"controller"},
		Env:    []string{"PATH=/", "SSL_CERT_FILE=/" + certificates},
		Labels: labels(p, name, version),
	}
	return mutate.ConfigFile(img, file)
}

// labels are the annotation keys of the OCI image specification.
func labels(p program.Program, name, version string) map[string]string {
	out := map[string]string{
		"org.opencontainers.image.title":    name,
		"org.opencontainers.image.version":  version,
		"org.opencontainers.image.source":   "https://" + p.Build.Main.Path,
		"org.opencontainers.image.licenses": "Apache-2.0",
	}
	if p.Revision != "" {
		out["org.opencontainers.image.revision"] = p.Revision
	}
	return out
}

// authorities are the CA certificates that Mozilla trusts without constraints, in PEM.
func authorities() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			out.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return out.Bytes()
}

// layer makes a layer of the entries, owned by root and with the time zero.
func layer(entries []archive.Entry) (v1.Layer, error) {
	var out bytes.Buffer
	if err := archive.Tar(&out, entries, time.Unix(0, 0)); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(out.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
}
