// Package crds holds the CustomResourceDefinitions of the core kinds and of the kinds of earlier APIs, generated from the
// Go types, for programs that install them. Each cloud provider has another set, such as in api/kwok/crds: the core kinds
// with the rules of the provider, and its node classes. Run "go generate ./api/..." after changing a type.
//
// Source: spec API, custom resource definitions.
package crds

import (
	"embed"
	"fmt"
	"io/fs"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

//go:embed *.yaml legacy/*.yaml
var files embed.FS

// Core returns the definitions of the core kinds, in the order of their file names. The caller owns the result.
func Core() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	return Read(files, "*.yaml")
}

// Legacy returns the definitions of kinds that today's have replaced. An installation needs them only to serve such objects.
// The caller owns the result.
func Legacy() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	return Read(files, "legacy/*.yaml")
}

// Read parses the files that match a pattern, in the order of their names. The caller owns the result.
func Read(files fs.FS, pattern string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	names, err := fs.Glob(files, pattern)
	if err != nil {
		return nil, fmt.Errorf("listing CRDs %q: %w", pattern, err)
	}
	crds := make([]*apiextensionsv1.CustomResourceDefinition, 0, len(names))
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("reading CRD %s: %w", name, err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(text, crd); err != nil {
			return nil, fmt.Errorf("parsing CRD %s: %w", name, err)
		}
		crds = append(crds, crd)
	}
	return crds, nil
}
