package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-anew/karpenter/tools/release/archive"
	"github.com/karpenter-anew/karpenter/tools/release/checksum"
	"github.com/karpenter-anew/karpenter/tools/release/image"
	"github.com/karpenter-anew/karpenter/tools/release/publish"
)

type pushCommand struct {
	Dist     string  `required:"" placeholder:"DIR" help:"Folder with the release."`
	Version  Version `required:"" help:"Version of the release."`
	Registry string  `required:"" help:"Registry, with the beginning of the repositories' names if there is one: ghcr.io/karpenter-anew. The registry of a loopback address is addressed without TLS."`
}

// Run implements the subcommand.
func (c *pushCommand) Run(ctx context.Context) error {
	if !registryName().MatchString(c.Registry) {
		return fmt.Errorf("registry %q is not HOST[:PORT][/PATH], without https:// or oci://", c.Registry)
	}
	key, err := signingKey()
	if err != nil {
		return err
	}
	files, err := checksum.Verify(c.Dist)
	if err != nil {
		return err
	}
	var pushed []name.Digest
	digest, err := c.image(ctx, files)
	if err != nil {
		return err
	}
	pushed = append(pushed, digest)
	for _, chart := range chartNames() {
		if digest, err = c.chart(ctx, files, chart); err != nil {
			return err
		}
		pushed = append(pushed, digest)
	}
	for _, digest := range pushed {
		fmt.Println("pushed", digest)
		if key != nil {
			if err := publish.Signature(ctx, *key, digest); err != nil {
				return err
			}
		}
	}
	if key == nil {
		fmt.Printf("What was pushed is not signed: %s has no key.\n", keyVariable)
	}
	return nil
}

// image pushes the image.
func (c *pushCommand) image(ctx context.Context, files map[string][]byte) (_ name.Digest, err error) {
	file := imageFile(string(c.Version))
	content, ok := files[file]
	if !ok {
		return name.Digest{}, c.lacks(file)
	}
	dir, err := os.MkdirTemp("", "push-")
	if err != nil {
		return name.Digest{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	index, err := image.ReadIndex(content, dir)
	if err != nil {
		return name.Digest{}, fmt.Errorf("reading %s: %w", filepath.Join(c.Dist, file), err)
	}
	return publish.Index(ctx, index, c.Registry+"/"+product+":"+string(c.Version))
}

// chart pushes a chart.
func (c *pushCommand) chart(ctx context.Context, files map[string][]byte, chart string) (name.Digest, error) {
	file := chart + "-" + string(c.Version) + ".tgz"
	content, ok := files[file]
	if !ok {
		return name.Digest{}, c.lacks(file)
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return name.Digest{}, err
	}
	entries, err := archive.Read(unzipped)
	if err != nil || len(entries) == 0 || entries[0].Name != chart+"/Chart.yaml" {
		return name.Digest{}, errors.Join(fmt.Errorf("%s does not begin with Chart.yaml", filepath.Join(c.Dist, file)), err)
	}
	var metadata map[string]any
	if err := yaml.Unmarshal(entries[0].Content, &metadata); err != nil {
		return name.Digest{}, err
	}
	return publish.Chart(ctx, content, metadata, c.Registry+"/charts/"+chart+":"+string(c.Version))
}

func (c *pushCommand) lacks(file string) error {
	return fmt.Errorf("%s lacks %s; make the release with version %s", c.Dist, file, c.Version)
}
