package main

import (
	"archive/tar"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// archive writes an image as an OCI layout into a tar file; the version is its reference name.
func archive(img v1.Image, version, out string) (err error) {
	dir, err := os.MkdirTemp("", "image-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return err
	}
	err = path.AppendImage(img,
		layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": version}),
		layout.WithPlatform(v1.Platform{OS: config.OS, Architecture: config.Architecture}))
	if err != nil {
		return err
	}
	file, err := os.Create(out)
	if err != nil {
		return err
	}
	w := tar.NewWriter(file)
	return errors.Join(addAll(w, dir), w.Close(), file.Close())
}

// addAll writes the directories and files below dir in the order of their names.
func addAll(w *tar.Writer, dir string) error {
	return filepath.WalkDir(dir, func(path string, found fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if found.IsDir() {
			return write(w, entry{path: name + "/", mode: 0o755}, tar.TypeDir)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return write(w, entry{name, 0o644, content}, tar.TypeReg)
	})
}
