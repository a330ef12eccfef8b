// Package crds holds the CustomResourceDefinitions of Karpenter's kinds, generated from the wire types, for programs
// that install them. Run "go generate ./api" after changing a type.
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

//go:embed *.yaml kwok/*.yaml aws/*.yaml legacy/*.yaml
var files embed.FS

// Core returns the definitions of the core kinds, in the order of their file names. The caller owns the result.
func Core() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	return read("*.yaml")
}

// Kwok returns all definitions that an installation with simulated nodes needs: the core kinds, in which the label
// domain of these nodes is restricted as well, and their node class. The caller owns the result.
func Kwok() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	return read("kwok/*.yaml")
}

// AWS returns all definitions that an installation on AWS needs: the core kinds, in which the label domain of EC2
// instances is restricted as well, and their node class. The caller owns the result.
func AWS() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	return read("aws/*.yaml")
}

// Legacy returns the definitions of kinds that today's have replaced. An installation needs them only to serve such objects.
// The caller owns the result.
func Legacy() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	return read("legacy/*.yaml")
}

// read parses the embedded files that match a pattern.
func read(pattern string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	names, err := fs.Glob(files, pattern)
	if err != nil {
		return nil, fmt.Errorf("listing CRDs %q: %w", pattern, err)
	}
	crds := make([]*apiextensionsv1.CustomResourceDefinition, 0, len(names))
	for _, name := range names {
		text, err := files.ReadFile(name)
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
