// Package sbom writes software bills of materials of Go programs and of the JavaScript that they embed.
package sbom

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
	"github.com/package-url/packageurl-go"

	"github.com/karpenter-anew/karpenter/tools/release/license"
	"github.com/karpenter-anew/karpenter/tools/release/program"
	"github.com/karpenter-anew/karpenter/tools/release/vendored"
)

// Materials is what the linker does not record.
type Materials struct {
	// Modules has the licenses of all linked modules and of the standard library; further modules do not count.
	Modules []license.Component
	// Vendored are the JavaScript libraries that the program embeds.
	Vendored []vendored.Package
}

// Encode returns the software bill of materials of a program as CycloneDX 1.6 in JSON: the modules that the Go linker recorded
// in it, and the vendored JavaScript libraries. It has no serial number, which would differ between two builds of the same program. It is
// an error if the license of a component is not known or not allowed.
func Encode(p program.Program, name, version string, materials Materials) ([]byte, error) {
	bom := cyclonedx.NewBOM()
	root := application(p, name, version)
	bom.Metadata = &cyclonedx.Metadata{Timestamp: p.Time.Format(time.RFC3339), Component: &root}
	components := []cyclonedx.Component{library(license.StandardLibrary, license.StandardLibrary, strings.TrimPrefix(p.Build.GoVersion, "go"))}
	for _, m := range p.Build.Deps {
		components = append(components, module(m))
	}
	if err := addLicenses(components, materials.Modules); err != nil {
		return nil, err
	}
	for _, v := range materials.Vendored {
		c, err := embedded(v)
		if err != nil {
			return nil, err
		}
		components = append(components, c)
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

// addLicenses sets the licenses of Go modules.
func addLicenses(components []cyclonedx.Component, modules []license.Component) error {
	for i, c := range components {
		at := slices.IndexFunc(modules, func(m license.Component) bool { return m.Name == c.Name && m.Version == c.Version })
		if at < 0 {
			return fmt.Errorf("%s %s is linked, but its license was not collected", c.Name, c.Version)
		}
		var err error
		if components[i].Licenses, err = licenses(modules[at]); err != nil {
			return err
		}
	}
	return nil
}

// licenses lists the licenses of a component; all of them apply, each to a part.
func licenses(c license.Component) (*cyclonedx.Licenses, error) {
	ids, err := c.IDs()
	var out cyclonedx.Licenses
	for _, id := range ids {
		out = append(out, cyclonedx.LicenseChoice{License: &cyclonedx.License{ID: id}})
	}
	return &out, err
}

// embedded is a JavaScript library. Its hash is that of the archive of npm, of which the program has some files.
func embedded(p vendored.Package) (cyclonedx.Component, error) {
	terms, err := licenses(p.Component)
	namespace, base := path.Split(p.Name)
	return cyclonedx.Component{
		Type: cyclonedx.ComponentTypeLibrary, BOMRef: "npm:" + p.Name + "@" + p.Version, Name: p.Name, Version: p.Version,
		PackageURL: packageurl.NewPackageURL(packageurl.TypeNPM, strings.TrimSuffix(namespace, "/"), base, p.Version, nil, "").ToString(),
		Licenses:   terms, Hashes: &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: p.SHA256}},
	}, err
}

// packageURL is the package URL of a Go module. The specification requires lower-case names of Go modules.
func packageURL(name, version string) string {
	namespace, base := path.Split(strings.ToLower(name))
	return packageurl.NewPackageURL(packageurl.TypeGolang, strings.TrimSuffix(namespace, "/"), base, version, nil, "").ToString()
}
