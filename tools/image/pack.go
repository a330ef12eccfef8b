package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"io"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// nonRoot is the user and group ID of the program, as in distroless images.
const nonRoot = "65532"

// certificates is where Go looks for CA certificates.
const certificates = "etc/ssl/certs/ca-certificates.crt"

// entry is a file or, if path ends with a slash, a directory of the image.
type entry struct {
	path    string
	mode    int64
	content []byte
}

// pack makes the image: a layer with users, certificates and /tmp, and a layer with the program.
func pack(p program, name, version string) (v1.Image, error) {
	system, err := layer([]entry{
		{"etc/", 0o755, nil},
		{"etc/group", 0o644, []byte("root:x:0:\nnonroot:x:" + nonRoot + ":\n")},
		{"etc/passwd", 0o644, []byte("root:x:0:0:root:/:/sbin/nologin\nnonroot:x:" + nonRoot + ":" + nonRoot + ":nonroot:/:/sbin/nologin\n")},
		{"etc/ssl/", 0o755, nil},
		{"etc/ssl/certs/", 0o755, nil},
		{certificates, 0o644, authorities()},
		{"tmp/", 0o1777, nil},
	})
	if err != nil {
		return nil, err
	}
	executable, err := layer([]entry{{name, 0o555, p.text}})
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
	file.OS, file.Architecture, file.Created = "linux", p.architecture, v1.Time{Time: p.time}
	file.Config = v1.Config{
		User: nonRoot + ":" + nonRoot, WorkingDir: "/", Entrypoint: []string{"/" + name}, Cmd: []string{"controller"},
		Env:    []string{"PATH=/", "SSL_CERT_FILE=/" + certificates},
		Labels: labels(p, name, version),
	}
	return mutate.ConfigFile(img, file)
}

// labels are the annotation keys of the OCI image specification.
func labels(p program, name, version string) map[string]string {
	out := map[string]string{
		"org.opencontainers.image.title":    name,
		"org.opencontainers.image.version":  version,
		"org.opencontainers.image.source":   "https://" + p.build.Main.Path,
		"org.opencontainers.image.licenses": "Apache-2.0",
	}
	if p.revision != "" {
		out["org.opencontainers.image.revision"] = p.revision
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
func layer(entries []entry) (v1.Layer, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		kind := byte(tar.TypeReg)
		if strings.HasSuffix(e.path, "/") {
			kind = tar.TypeDir
		}
		if err := write(w, e, kind); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(out.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
}

func write(w *tar.Writer, e entry, kind byte) error {
	header := &tar.Header{Typeflag: kind, Name: e.path, Mode: e.mode, Size: int64(len(e.content)), ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR}
	if err := w.WriteHeader(header); err != nil {
		return err
	}
	_, err := w.Write(e.content)
	return err
}
