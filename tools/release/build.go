package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/karpenter-anew/karpenter/tools/release/archive"
	"github.com/karpenter-anew/karpenter/tools/release/checksum"
	"github.com/karpenter-anew/karpenter/tools/release/homebrew"
	"github.com/karpenter-anew/karpenter/tools/release/image"
	"github.com/karpenter-anew/karpenter/tools/release/krew"
	"github.com/karpenter-anew/karpenter/tools/release/program"
	"github.com/karpenter-anew/karpenter/tools/release/provenance"
	"github.com/karpenter-anew/karpenter/tools/release/sbom"
	"github.com/karpenter-anew/karpenter/tools/release/signature"
	"github.com/karpenter-anew/karpenter/tools/release/source"
)

// repository is where the image is published.
const repository = "ghcr.io/karpenter-anew/" + product

type buildCommand struct {
	Root    string  `required:"" placeholder:"DIR" help:"Working tree of the repository, without changes."`
	Version Version `required:"" help:"Version of the release, such as 1.2.3."`
	Out     string  `required:"" placeholder:"DIR" help:"Folder to write; it is replaced if it contains an earlier release."`
	Builder string  `env:"GITHUB_WORKFLOW_REF" help:"Workflow on GitHub that builds, for the provenance."`
}

// build is a release while it is made.
type build struct {
	source  source.Source
	version string
	// programs are in the order of platforms().
	programs []program.Program
	// completions are the completion scripts by their file names.
	completions map[string][]byte
	// contents is what the programs contain by others, and licenses are the files about it, by their names.
	contents sbom.Materials
	licenses map[string][]byte
	// files is the release, by the names of the files.
	files map[string][]byte
	index v1.ImageIndex
}

// platforms are those that binaries are built for. Images are for those of Linux.
func platforms() []program.Platform {
	return []program.Platform{
		{OS: "linux", Architecture: "amd64"},
		{OS: "linux", Architecture: "arm64"},
		{OS: "darwin", Architecture: "amd64"},
		{OS: "darwin", Architecture: "arm64"},
	}
}

// Run implements the subcommand.
func (c *buildCommand) Run(ctx context.Context) error {
	key, err := signingKey()
	if err != nil {
		return err
	}
	if err := replaceable(c.Out); err != nil {
		return err
	}
	src, err := source.Read(c.Root)
	if err != nil {
		return err
	}
	b := &build{source: src, version: string(c.Version), completions: map[string][]byte{}, files: map[string][]byte{}}
	if err := b.compile(ctx); err != nil {
		return err
	}
	for _, step := range []func() error{b.images, b.archives, b.charts, b.schemas} {
		if err := step(); err != nil {
			return err
		}
	}
	if err := b.attest(c.Builder, key); err != nil {
		return err
	}
	if err := writeFolder(c.Out, b.files); err != nil {
		return err
	}
	digest, err := b.index.Digest()
	if err != nil {
		return err
	}
	fmt.Printf("%s\n%simage %s\n", c.Out, b.files[checksum.File], digest)
	if key == nil {
		fmt.Printf("The release is not signed: %s has no key.\n", keyVariable)
	}
	return nil
}

// compile builds the programs, has the one for the local platform print the completion scripts, and collects the licenses.
func (b *build) compile(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "release-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	clone := filepath.Join(dir, "source")
	if err := b.source.Clone(clone); err != nil {
		return err
	}
	host := program.Platform{OS: runtime.GOOS, Architecture: runtime.GOARCH}
	targets := platforms()
	if !slices.Contains(targets, host) {
		targets = append(targets, host)
	}
	for _, target := range targets {
		fmt.Fprintf(os.Stderr, "building %s for %s\n", product, target)
		out := filepath.Join(dir, target.OS+"-"+target.Architecture)
		p, err := program.Build(ctx, clone, product, b.version, out, target)
		if err != nil {
			return err
		}
		if p.Revision != b.source.Commit {
			return fmt.Errorf("%s was built from commit %q instead of %s; check that the Go command can run git", product, p.Revision, b.source.Commit)
		}
		if slices.Contains(platforms(), target) {
			b.programs = append(b.programs, p)
		}
		if target != host {
			continue
		}
		for shell, name := range map[string]string{"bash": product + ".bash", "zsh": "_" + product, "fish": product + ".fish"} {
			if b.completions[name], err = exec.CommandContext(ctx, out, "completion", shell).Output(); err != nil {
				return fmt.Errorf("printing the completion script for %s: %w", shell, err)
			}
		}
	}
	b.contents, b.licenses, err = licenses(ctx, clone, platforms())
	return err
}

// images makes the image for all platforms of Linux.
func (b *build) images() error {
	var all []v1.Image
	for _, p := range b.programs {
		if p.OS != "linux" {
			continue
		}
		img, err := image.Pack(p, product, b.version, b.licenses)
		if err != nil {
			return err
		}
		all = append(all, img)
	}
	var err error
	if b.index, err = image.Index(all); err != nil {
		return err
	}
	b.files[imageFile(b.version)], err = image.IndexLayout(b.index, b.version)
	return err
}

// imageFile is the name of the archive with the image.
func imageFile(version string) string { return product + "_" + version + "_image.tar" }

// archives makes what is about binaries: archives, SBOMs, and the manifests of package managers.
func (b *build) archives() error {
	var plugins []krew.Download
	var bottles []homebrew.Download
	for _, p := range b.programs {
		folder := product + "_" + b.version + "_" + p.OS + "_" + p.Architecture
		entries, err := b.entries(folder, p)
		if err != nil {
			return err
		}
		name := folder + ".tar.gz"
		if b.files[name], err = archive.Gzip(entries, b.source.Time); err != nil {
			return err
		}
		if b.files[folder+".cdx.json"], err = sbom.Encode(p, product, b.version, b.contents); err != nil {
			return err
		}
		address, sum := source.Home+"/releases/download/v"+b.version+"/"+name, checksum.Of(b.files[name])
		platform := program.Platform{OS: p.OS, Architecture: p.Architecture}
		plugins = append(plugins, krew.Download{Platform: platform, Address: address, SHA256: sum, Folder: folder})
		bottles = append(bottles, homebrew.Download{Platform: platform, Address: address, SHA256: sum})
	}
	var err error
	if b.files[product+"_"+b.version+"_krew.yaml"], err = krew.Manifest(product, b.version, plugins); err != nil {
		return err
	}
	b.files[product+".rb"], err = homebrew.Formula(product, b.version, bottles)
	return err
}

// entries lists what the archive of a program contains.
func (b *build) entries(folder string, p program.Program) ([]archive.Entry, error) {
	out := []archive.Entry{{Name: folder + "/", Mode: 0o755}}
	readme, err := b.source.Content("README.md")
	if err != nil {
		return nil, err
	}
	out = append(out, archive.Entry{Name: folder + "/README.md", Mode: 0o644, Content: readme})
	for _, name := range slices.Sorted(maps.Keys(b.licenses)) {
		out = append(out, archive.Entry{Name: folder + "/" + name, Mode: 0o644, Content: b.licenses[name]})
	}
	out = append(out, archive.Entry{Name: folder + "/completions/", Mode: 0o755})
	for _, name := range slices.Sorted(maps.Keys(b.completions)) {
		out = append(out, archive.Entry{Name: folder + "/completions/" + name, Mode: 0o644, Content: b.completions[name]})
	}
	return append(out, archive.Entry{Name: folder + "/" + product, Mode: 0o755, Content: p.Content}), nil
}

// attest adds the provenance and the checksums; with a key, both are signed, and the public key is added.
func (b *build) attest(workflow string, key *signature.Key) error {
	builder := provenance.Local
	if workflow != "" {
		builder = "https://github.com/" + workflow
	}
	digest, err := b.index.Digest()
	if err != nil {
		return err
	}
	statement, err := provenance.Statement(provenance.Build{Source: b.source, Version: b.version, Builder: builder, Go: b.programs[0].Build.GoVersion},
		b.files, []provenance.Resource{{Name: repository, Digest: provenance.Digests{digest.Algorithm: digest.Hex}}})
	if err != nil {
		return err
	}
	name := product + "_" + b.version + "_provenance"
	b.files[name+".json"] = statement
	if key == nil {
		b.files[checksum.File] = checksum.List(b.files)
		return nil
	}
	if b.files[name+".intoto.jsonl"], err = key.Envelope(provenance.PayloadType, bytes.TrimSpace(statement)); err != nil {
		return err
	}
	if b.files[product+".pub"], err = key.PublicPEM(); err != nil {
		return err
	}
	b.files[checksum.File] = checksum.List(b.files)
	detached, err := key.Detached(b.files[checksum.File])
	b.files[checksum.File+".sig"] = []byte(detached + "\n")
	return err
}

// replaceable checks that a folder may be replaced: it does not exist, is empty, or contains a release.
func replaceable(folder string) error {
	found, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(found) > 0 && !slices.ContainsFunc(found, func(f fs.DirEntry) bool { return f.Name() == checksum.File }) {
		return fmt.Errorf("%s contains something else than a release; choose another folder, or remove it", folder)
	}
	return nil
}

// writeFolder replaces a folder at once, so that it never contains half a release.
func writeFolder(folder string, files map[string][]byte) error {
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return err
	}
	part, err := os.MkdirTemp(filepath.Dir(folder), "."+filepath.Base(folder)+"-")
	if err != nil {
		return err
	}
	if err := os.Chmod(part, 0o755); err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(part, name), content, 0o644); err != nil {
			return errors.Join(err, os.RemoveAll(part))
		}
	}
	if err := os.RemoveAll(folder); err != nil {
		return errors.Join(err, os.RemoveAll(part))
	}
	return os.Rename(part, folder)
}
