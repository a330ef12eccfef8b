package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/tools/release/archive"
	"github.com/karpenter-anew/karpenter/tools/release/chart"
	"github.com/karpenter-anew/karpenter/tools/release/image"
	"github.com/karpenter-anew/karpenter/tools/release/license"
	"github.com/karpenter-anew/karpenter/tools/release/program"
	"github.com/karpenter-anew/karpenter/tools/release/sbom"
	"github.com/karpenter-anew/karpenter/tools/release/schema"
	"github.com/karpenter-anew/karpenter/tools/release/source"
	"github.com/karpenter-anew/karpenter/tools/release/vendored"
)

// chartNames are the charts and the folders that contain them, below charts.
func chartNames() []string { return []string{product, product + "-crd"} }

// charts packages both charts.
func (b *build) charts() error {
	changelog, err := b.source.Content("CHANGELOG.md")
	if err != nil {
		return err
	}
	for _, name := range chartNames() {
		r := chart.Release{Version: b.version, Changes: chart.Changes(string(changelog), b.version)}
		if name == product {
			r.Image = repository + ":" + b.version
		}
		c, err := chart.Package(b.source, "charts/"+name, r)
		if err != nil {
			return err
		}
		b.files[c.File()] = c.Content
	}
	return nil
}

// schemas makes the JSON schemas of all kinds. Core kinds exist once for each cloud provider; they differ in rules that JSON schemas
// do not have.
func (b *build) schemas() error {
	names, err := b.source.Files("api")
	if err != nil {
		return err
	}
	found := map[string][]byte{}
	for _, name := range names {
		if folder := path.Dir(name); path.Ext(name) != ".yaml" || (path.Base(folder) != "crds" && folder != "crds/legacy") {
			continue
		}
		content, err := b.source.Content("api", name)
		if err != nil {
			return err
		}
		all, err := schema.Make(content)
		if err != nil {
			return fmt.Errorf("making a schema of api/%s: %w", name, err)
		}
		for _, s := range all {
			if earlier, ok := found[s.Name]; ok && !bytes.Equal(earlier, s.Content) {
				return fmt.Errorf("the schema %s of api/%s differs from that of another provider", s.Name, name)
			}
			found[s.Name] = s.Content
		}
	}
	entries := []archive.Entry{{Name: "schemas/", Mode: 0o755}}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if folder := "schemas/" + path.Dir(name) + "/"; !slices.ContainsFunc(entries, func(e archive.Entry) bool { return e.Name == folder }) {
			entries = append(entries, archive.Entry{Name: folder, Mode: 0o755})
		}
		entries = append(entries, archive.Entry{Name: "schemas/" + name, Mode: 0o644, Content: found[name]})
	}
	b.files[product+"_"+b.version+"_schemas.tar.gz"], err = archive.Gzip(entries, b.source.Time)
	return err
}

// licenses returns what the program of a working tree contains by others on any of the platforms, and the license files that are
// distributed with it, by their names. It is an error if the license of a component is unknown or not allowed.
func licenses(ctx context.Context, root string, targets []program.Platform) (sbom.Materials, map[string][]byte, error) {
	tree := source.Source{Root: root}
	var contents sbom.Materials
	own, err := tree.Content("LICENSE")
	if err != nil {
		return contents, nil, err
	}
	if contents.Modules, err = license.Linked(ctx, root, "./cmd/"+product, targets...); err != nil {
		return contents, nil, err
	}
	if contents.Vendored, err = vendored.Read(tree.Content); err != nil {
		return contents, nil, err
	}
	all := slices.Clone(contents.Modules)
	for _, v := range contents.Vendored {
		all = append(all, v.Component)
	}
	return contents, map[string][]byte{"LICENSE": own, license.NoticesFile: license.Notices(product, all)}, license.Check(all)
}

type imageCommand struct {
	Root    string  `required:"" placeholder:"DIR" help:"Working tree of the repository."`
	Version Version `required:"" help:"Version of the program and of the image."`
	Arch    string  `required:"" help:"GOARCH of the image."`
	Out     string  `required:"" placeholder:"DIR" help:"Folder to write to."`
}

// Run implements the subcommand.
func (c *imageCommand) Run(ctx context.Context) error {
	base := filepath.Join(c.Out, product+"-linux-"+c.Arch)
	if err := os.MkdirAll(c.Out, 0o755); err != nil {
		return err
	}
	target := program.Platform{OS: "linux", Architecture: c.Arch}
	p, err := program.Build(ctx, c.Root, product, string(c.Version), base, target)
	if err != nil {
		return err
	}
	contents, texts, err := licenses(ctx, c.Root, []program.Platform{target})
	if err != nil {
		return err
	}
	img, err := image.Pack(p, product, string(c.Version), texts)
	if err != nil {
		return err
	}
	layout, err := image.ImageLayout(img, string(c.Version))
	if err != nil {
		return err
	}
	materials, err := sbom.Encode(p, product, string(c.Version), contents)
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{base + ".tar": layout, base + ".cdx.json": materials} {
		if err := os.WriteFile(name, content, 0o644); err != nil {
			return err
		}
	}
	digest, err := img.Digest()
	if err != nil {
		return err
	}
	fmt.Println(strings.Join([]string{base + ".tar", digest.String(), base + ".cdx.json"}, " "))
	return nil
}
