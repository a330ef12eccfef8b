// Package sbom writes software bills of materials of Go programs.
package sbom

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"runtime/debug"
	"strings"
	"time"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
	"github.com/package-url/packageurl-go"

	"github.com/karpenter-anew/karpenter/tools/release/program"
)

// Encode returns the software bill of materials of a program as CycloneDX 1.6 in JSON: the modules that the Go linker recorded
// in it. It has no serial number, which would differ between two builds of the same program.
func Encode(p program.Program, name, version string) ([]byte, error) {
	bom := cyclonedx.NewBOM()
	root := application(p, name, version)
	bom.Metadata = &cyclonedx.Metadata{Timestamp: p.Time.Format(time.RFC3339), Component: &root}
	components := []cyclonedx.Component{library("stdlib", "stdlib", strings.TrimPrefix(p.Build.GoVersion, "go"))}
	for _, m := range p.Build.Deps {
		components = append(components, module(m))
	}
	var references []string
	for _, c := range components {
		references = append(references, c.BOMRef)
	}
	bom.Components = &components
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: name, Dependencies: &references}}
	var out bytes.Buffer
	err := cyclonedx.NewBOMEncoder(&out, cyclonedx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cyclonedx.SpecVersion1_6)
	return out.Bytes(), err
}

// application is the program itself, with its build settings.
func application(p program.Program, name, version string) cyclonedx.Component {
	sum := sha256.Sum256(p.Content)
	var settings []cyclonedx.Property
	for _, s := range p.Build.Settings {
		settings = append(settings, cyclonedx.Property{Name: "go:build:" + s.Key, Value: s.Value})
	}
	return cyclonedx.Component{
		Type: cyclonedx.ComponentTypeApplication, BOMRef: name, Name: name, Version: version,
		PackageURL: packageURL(p.Build.Main.Path, version),
		Hashes:     &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}},
		Properties: &settings,
	}
}

// module is a linked module; the replacement of a module that go.mod replaces.
func module(m *debug.Module) cyclonedx.Component {
	if m.Replace != nil {
		m = m.Replace
	}
	c := library(m.Path+"@"+m.Version, m.Path, m.Version)
	if m.Sum != "" {
		c.Properties = &[]cyclonedx.Property{{Name: "go:sum", Value: m.Sum}}
	}
	return c
}

func library(reference, name, version string) cyclonedx.Component {
	return cyclonedx.Component{
		Type: cyclonedx.ComponentTypeLibrary, BOMRef: reference, Name: name, Version: version, PackageURL: packageURL(name, version),
	}
}

// packageURL is the package URL of a Go module. The specification requires lower-case names of Go modules.
func packageURL(name, version string) string {
	namespace, base := path.Split(strings.ToLower(name))
	return packageurl.NewPackageURL(packageurl.TypeGolang, strings.TrimSuffix(namespace, "/"), base, version, nil, "").ToString()
}
