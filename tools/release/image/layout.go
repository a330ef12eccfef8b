package image

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/karpenter-anew/karpenter/tools/release/archive"
)

// referenceName is the annotation of an OCI layout that names an image in it.
const referenceName = "org.opencontainers.image.ref.name"

// Index makes an index of images for several platforms, in their order.
func Index(images []v1.Image) (v1.ImageIndex, error) {
	out := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, img := range images {
		config, err := img.ConfigFile()
		if err != nil {
			return nil, err
		}
		out = mutate.AppendManifests(out, mutate.IndexAddendum{
			Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: config.OS, Architecture: config.Architecture}},
		})
	}
	return out, nil
}

// ImageLayout returns a tar file with an OCI layout of one image; the version is its reference name.
func ImageLayout(img v1.Image, version string) ([]byte, error) {
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	return write(func(path layout.Path) error {
		return path.AppendImage(img, layout.WithAnnotations(map[string]string{referenceName: version}),
			layout.WithPlatform(v1.Platform{OS: config.OS, Architecture: config.Architecture}))
	})
}

// IndexLayout returns a tar file with an OCI layout of an index; the version is its reference name.
func IndexLayout(index v1.ImageIndex, version string) ([]byte, error) {
	return write(func(path layout.Path) error {
		return path.AppendIndex(index, layout.WithAnnotations(map[string]string{referenceName: version}))
	})
}

// write returns the layout that add fills.
func write(add func(layout.Path) error) (out []byte, err error) {
	dir, err := os.MkdirTemp("", "image-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return nil, err
	}
	if err := add(path); err != nil {
		return nil, err
	}
	entries, err := entriesOf(dir)
	if err != nil {
		return nil, err
	}
	var buffer bytes.Buffer
	err = archive.Tar(&buffer, entries, time.Unix(0, 0))
	return buffer.Bytes(), err
}

// entriesOf lists the folders and files below dir in the order of their names.
func entriesOf(dir string) ([]archive.Entry, error) {
	var out []archive.Entry
	err := filepath.WalkDir(dir, func(path string, found fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if found.IsDir() {
			out = append(out, archive.Entry{Name: filepath.ToSlash(name) + "/", Mode: 0o755})
			return nil
		}
		content, err := os.ReadFile(path)
		out = append(out, archive.Entry{Name: filepath.ToSlash(name), Mode: 0o644, Content: content})
		return err
	})
	return out, err
}

// ReadIndex unpacks a tar file with an OCI layout into a folder and returns the index that IndexLayout was given.
func ReadIndex(content []byte, dir string) (v1.ImageIndex, error) {
	outer, err := unpack(content, dir)
	if err != nil {
		return nil, err
	}
	manifest, err := outer.IndexManifest()
	if err != nil {
		return nil, err
	}
	if len(manifest.Manifests) != 1 || !manifest.Manifests[0].MediaType.IsIndex() {
		return nil, errors.New("the OCI layout has more than one index, or none")
	}
	return outer.ImageIndex(manifest.Manifests[0].Digest)
}

// unpack writes the files of an OCI layout below dir.
func unpack(content []byte, dir string) (v1.ImageIndex, error) {
	entries, err := archive.Read(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("reading the OCI layout: %w", err)
	}
	root, err := os.OpenRoot(dir) // names that lead out of the folder are refused
	if err != nil {
		return nil, err
	}
	defer root.Close()
	for _, e := range entries {
		if strings.HasSuffix(e.Name, "/") {
			err = root.MkdirAll(strings.TrimSuffix(e.Name, "/"), 0o755)
		} else {
			err = root.WriteFile(e.Name, e.Content, 0o644)
		}
		if err != nil {
			return nil, err
		}
	}
	return layout.ImageIndexFromPath(dir)
}
