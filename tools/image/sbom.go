package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"runtime/debug"
	"strings"
	"time"
)

// bill is a bill of materials in the form of CycloneDX 1.6. It has no serial number, which would differ each time.
type bill struct {
	Format       string       `json:"bomFormat"`
	SpecVersion  string       `json:"specVersion"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Timestamp string    `json:"timestamp"`
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Reference  string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PackageURL string     `json:"purl,omitempty"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Reference string   `json:"ref"`
	DependsOn []string `json:"dependsOn"`
}

// billOfMaterials lists what the compiler linked into the program, by what it wrote down there.
func billOfMaterials(p program, name, version string) ([]byte, error) {
	sum := sha256.Sum256(p.text)
	root := component{
		Type: "application", Reference: name, Name: name, Version: version,
		PackageURL: packageURL(p.build.Main.Path, version), Hashes: []hash{{"SHA-256", hex.EncodeToString(sum[:])}},
	}
	for _, s := range p.build.Settings {
		root.Properties = append(root.Properties, property{"go:build:" + s.Key, s.Value})
	}
	compiler := strings.TrimPrefix(p.build.GoVersion, "go")
	parts := []component{{Type: "library", Reference: "stdlib", Name: "stdlib", Version: compiler, PackageURL: packageURL("stdlib", compiler)}}
	for _, m := range p.build.Deps {
		parts = append(parts, library(m))
	}
	needs := dependency{Reference: name, DependsOn: []string{}}
	for _, c := range parts {
		needs.DependsOn = append(needs.DependsOn, c.Reference)
	}
	out, err := json.MarshalIndent(bill{
		Format: "CycloneDX", SpecVersion: "1.6", Version: 1,
		Metadata:   metadata{Timestamp: p.time.Format(time.RFC3339), Component: root},
		Components: parts, Dependencies: []dependency{needs},
	}, "", "  ")
	return append(out, '\n'), err
}

// library is a module that was linked; where one was put in the place of another, that one.
func library(m *debug.Module) component {
	if m.Replace != nil {
		m = m.Replace
	}
	c := component{Type: "library", Reference: m.Path + "@" + m.Version, Name: m.Path, Version: m.Version, PackageURL: packageURL(m.Path, m.Version)}
	if m.Sum != "" {
		c.Properties = []property{{"go:sum", m.Sum}}
	}
	return c
}

// packageURL names a module as the package URL specification does.
func packageURL(module, version string) string {
	parts := strings.Split(strings.ToLower(module), "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return "pkg:golang/" + strings.Join(parts, "/") + "@" + url.QueryEscape(version)
}
