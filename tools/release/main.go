// Command release makes everything that a release has, from a commit, into a folder, and pushes images and charts to a registry. The
// same commit and version, built with the same version of Go, give the same bytes.
//
// Usage: go run -C tools/release . build -h
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"regexp"

	"github.com/alecthomas/kong"
	"golang.org/x/mod/semver"

	"github.com/karpenter-anew/karpenter/tools/release/signature"
)

// product is the name of the program, its image, its chart, and the kubectl plugin.
const product = "karpenter"

// keyVariable is the environment variable with the private key, in PEM.
const keyVariable = "RELEASE_SIGNING_KEY"

type commandLine struct {
	Build   buildCommand   `cmd:"" help:"Make all files of a release."`
	Image   imageCommand   `cmd:"" help:"Make an image for one architecture and its SBOM, from a working tree that may have changes."`
	Compare compareCommand `cmd:"" help:"Build the program of the commit HEAD in two folders, and compare the bytes."`
	Push    pushCommand    `cmd:"" help:"Push the image and the charts of a release that was made to a registry."`
}

// Version is a semantic version without a leading v. Build metadata is refused, because tags of images cannot have any.
type Version string

// Validate implements kong's interface.
func (v Version) Validate() error {
	if tag := "v" + string(v); semver.Canonical(tag) != tag {
		return fmt.Errorf("version %q is not a semantic version such as 1.2.3 or 1.2.3-rc.1", string(v))
	}
	return nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	k := kong.Parse(&commandLine{}, kong.Name("release"), kong.BindTo(ctx, (*context.Context)(nil)))
	k.FatalIfErrorf(k.Run())
}

// signingKey is the key of the environment; nil if there is none.
func signingKey() (*signature.Key, error) {
	text := os.Getenv(keyVariable)
	if text == "" {
		return nil, nil
	}
	key, err := signature.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("reading the key in %s: %w", keyVariable, err)
	}
	return &key, nil
}

// registryName is what an image reference may begin with.
func registryName() *regexp.Regexp {
	return regexp.MustCompile(`^[a-zA-Z0-9.:\[\]-]+(/[a-z0-9._-]+)*$`)
}
