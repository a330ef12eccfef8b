// Package provenance writes in-toto statements with SLSA provenance: what was built, from which commit, with which tools. It has no times
// and no identifiers of the run, so that the same commit gives the same statement.
//
// Source: https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md, https://slsa.dev/spec/v1.0/provenance
package provenance

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/karpenter-anew/karpenter/tools/release/checksum"
	"github.com/karpenter-anew/karpenter/tools/release/source"
)

// PayloadType is the media type of a statement.
const PayloadType = "application/vnd.in-toto+json"

// Digests are digests by the names of their algorithms.
type Digests map[string]string

// Resource is what was built, or what it was built from.
type Resource struct {
	Name   string  `json:"name,omitempty"`
	URI    string  `json:"uri,omitempty"`
	Digest Digests `json:"digest"`
}

type statement struct {
	Type          string     `json:"_type"`
	Subject       []Resource `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     predicate  `json:"predicate"`
}

type predicate struct {
	BuildDefinition buildDefinition `json:"buildDefinition"`
	RunDetails      runDetails      `json:"runDetails"`
}

type buildDefinition struct {
	BuildType            string         `json:"buildType"`
	ExternalParameters   map[string]any `json:"externalParameters"`
	InternalParameters   map[string]any `json:"internalParameters"`
	ResolvedDependencies []Resource     `json:"resolvedDependencies"`
}

type runDetails struct {
	Builder builder `json:"builder"`
}

type builder struct {
	ID string `json:"id"`
}

// Build is what a statement says besides its subjects.
type Build struct {
	Source  source.Source
	Version string
	// Builder identifies who built: the address of a workflow, or Local.
	Builder string
	// Go is the version of the toolchain.
	Go string
}

// Local is the builder of a release that was made by hand instead of by a service.
const Local = source.Home + "/tree/main/docs/releases.md#local"

// Statement returns the statement about files, and about resources that are not files.
func Statement(b Build, files map[string][]byte, others []Resource) ([]byte, error) {
	s := statement{Type: "https://in-toto.io/Statement/v1", PredicateType: "https://slsa.dev/provenance/v1"}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		s.Subject = append(s.Subject, Resource{Name: name, Digest: Digests{"sha256": checksum.Of(files[name])}})
	}
	s.Subject = append(s.Subject, others...)
	s.Predicate = predicate{
		BuildDefinition: buildDefinition{
			BuildType:          source.Home + "/tree/main/docs/releases.md#make-a-release",
			ExternalParameters: map[string]any{"command": "make release", "version": b.Version},
			InternalParameters: map[string]any{"go": b.Go},
			ResolvedDependencies: []Resource{{
				URI: "git+" + source.Home + "@" + b.Source.Commit, Digest: Digests{"gitCommit": b.Source.Commit},
			}},
		},
		RunDetails: runDetails{builder{b.Builder}},
	}
	text, err := json.MarshalIndent(s, "", "  ")
	return append(text, '\n'), err
}
