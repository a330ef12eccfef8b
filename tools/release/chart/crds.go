package chart

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// crd is a custom resource as Artifact Hub lists it.
type crd struct {
	Kind        string `json:"kind"`
	Version     string `json:"version"`
	Name        string `json:"name"`
	DisplayName string `json:"displayName"`
	Description string `json:"description"`
}

// definition is what is read of a CustomResourceDefinition.
type definition struct {
	Metadata struct{ Name string }
	Spec     struct {
		Names    struct{ Kind string }
		Versions []struct {
			Name   string
			Schema struct{ OpenAPIV3Schema struct{ Description string } }
		}
	}
}

// definitions lists the versions of the CRDs that a chart contains, each once: a chart may have a CRD once for each cloud provider.
func definitions(files map[string][]byte) ([]crd, error) {
	found := map[string]crd{}
	for name, content := range files {
		if !strings.HasSuffix(name, ".yaml") || (!strings.HasPrefix(name, "crds/") && !strings.HasPrefix(name, "definitions/")) {
			continue
		}
		var d definition
		if err := yaml.Unmarshal(content, &d); err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		for _, v := range d.Spec.Versions {
			description := strings.Join(strings.Fields(v.Schema.OpenAPIV3Schema.Description), " ")
			if description == "" {
				description = d.Spec.Names.Kind
			}
			found[d.Metadata.Name+" "+v.Name] = crd{d.Spec.Names.Kind, v.Name, d.Metadata.Name, d.Spec.Names.Kind, description}
		}
	}
	var out []crd
	for _, key := range slices.Sorted(maps.Keys(found)) {
		out = append(out, found[key])
	}
	return out, nil
}
