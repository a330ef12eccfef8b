package generator

import (
	"fmt"
	"path"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Provider describes the CRDs of a cloud provider: the core kinds with the rules of the provider, and its node classes.
type Provider struct {
	// Folder contains the API types of the provider, relative to the root of the module. CRDs are written to its folder crds.
	Folder string
	// Rules are the changes that the provider makes to core kinds, by kind. Usually they restrict its label domain.
	Rules map[string]Changes
}

// GenerateProvider writes the CRDs of a cloud provider, given those of the core kinds.
func GenerateProvider(p Provider, core []*apiextensionsv1.CustomResourceDefinition) error {
	g, err := New()
	if err != nil {
		return err
	}
	crds, err := g.Load("./" + p.Folder + "/...")
	if err != nil {
		return err
	}
	edited := 0
	for _, crd := range core {
		if rules, ok := p.Rules[crd.Spec.Names.Kind]; ok {
			edited++
			if err := Edit(crd, rules); err != nil {
				return fmt.Errorf("adding rules to %s: %w", crd.Name, err)
			}
		}
	}
	if edited != len(p.Rules) {
		return fmt.Errorf("%s has rules for %d kinds, and %d of them are core kinds", p.Folder, len(p.Rules), edited)
	}
	return g.Write(path.Join(p.Folder, "crds"), append(crds, core...)...)
}
