// Package chart packages Helm charts for a release: it sets the versions and adds the annotations that Artifact Hub shows. The same commit
// gives the same bytes.
package chart

import (
	"fmt"
	"path"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/karpenter-anew/karpenter/tools/release/archive"
	"github.com/karpenter-anew/karpenter/tools/release/source"
)

// Chart is a packaged chart.
type Chart struct {
	// Name and Version are those of Chart.yaml.
	Name, Version string
	// Metadata is Chart.yaml.
	Metadata map[string]any
	// Content is the archive that Helm installs.
	Content []byte
}

// File is the name that Helm gives the archive.
func (c Chart) File() string { return c.Name + "-" + c.Version + ".tgz" }

// Release is what a chart takes from the release.
type Release struct {
	// Version is that of the chart and of the application.
	Version string
	// Image is the reference of the controller's image; "" if the chart has none.
	Image string
	// Changes are those of the release.
	Changes []Change
}

// Package packages the chart in a folder of the source.
func Package(src source.Source, folder string, r Release) (Chart, error) {
	names, err := src.Files(folder)
	if err != nil {
		return Chart{}, err
	}
	files := map[string][]byte{}
	for _, name := range names {
		if files[name], err = src.Content(folder, name); err != nil {
			return Chart{}, err
		}
	}
	c := Chart{Version: r.Version, Metadata: map[string]any{}}
	if err := yaml.UnmarshalStrict(files[metadataFile], &c.Metadata); err != nil {
		return Chart{}, fmt.Errorf("reading %s: %w", path.Join(folder, metadataFile), err)
	}
	if c.Name, _ = c.Metadata["name"].(string); c.Name == "" {
		return Chart{}, fmt.Errorf("%s has no name", path.Join(folder, metadataFile))
	}
	c.Metadata["version"], c.Metadata["appVersion"] = r.Version, r.Version
	if err := annotate(c.Metadata, files, r); err != nil {
		return Chart{}, fmt.Errorf("chart %s: %w", c.Name, err)
	}
	if files[metadataFile], err = yaml.Marshal(c.Metadata); err != nil {
		return Chart{}, err
	}
	// Helm writes the metadata first, so that readers find it early.
	entries := []archive.Entry{{Name: path.Join(c.Name, metadataFile), Mode: 0o644, Content: files[metadataFile]}}
	for _, name := range names {
		if name != metadataFile && path.Base(name) != ignoreFile {
			entries = append(entries, archive.Entry{Name: path.Join(c.Name, name), Mode: 0o644, Content: files[name]})
		}
	}
	c.Content, err = archive.Gzip(entries, src.Time)
	return c, err
}

// The files of a chart with a meaning here. What is in the commit is not ignored, so the list of ignored files is not needed.
const (
	metadataFile = "Chart.yaml"
	ignoreFile   = ".helmignore"
)

// annotate adds the annotations that depend on the release or on the files.
func annotate(metadata map[string]any, files map[string][]byte, r Release) error {
	annotations, _ := metadata["annotations"].(map[string]any)
	if annotations == nil {
		annotations = map[string]any{}
	}
	add := func(key string, value any) error {
		text, err := yaml.Marshal(value)
		annotations["artifacthub.io/"+key] = string(text)
		return err
	}
	crds, err := definitions(files)
	if err != nil {
		return err
	}
	if err := add("crds", crds); err != nil {
		return err
	}
	if len(r.Changes) > 0 {
		if err := add("changes", r.Changes); err != nil {
			return err
		}
	}
	if r.Image != "" {
		if err := add("images", []map[string]any{{"name": "controller", "image": r.Image, "platforms": []string{"linux/amd64", "linux/arm64"}}}); err != nil {
			return err
		}
	}
	annotations["artifacthub.io/prerelease"] = fmt.Sprint(strings.Contains(r.Version, "-"))
	metadata["annotations"] = annotations
	return nil
}
