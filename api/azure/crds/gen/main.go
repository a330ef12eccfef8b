// Command gen writes the CRDs of an installation on Azure.
//
// Usage: go run ./api/azure/crds/gen
package main

import (
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/karpenter-anew/karpenter/api/azure/label"
	"github.com/karpenter-anew/karpenter/api/crds"
	"github.com/karpenter-anew/karpenter/api/crds/generator"
)

// category is the one of everything that has to do with node auto-provisioning, the name of Karpenter in AKS.
const category = "nap"

func main() {
	core, err := crds.Core()
	if err == nil {
		present(core)
		err = generator.GenerateProvider(generator.Provider{Folder: "api/azure", Rules: rules()}, core)
	}
	if err != nil {
		slog.Error("generating CRDs", "error", err)
		os.Exit(1)
	}
}

// present changes how core kinds are shown: NodePools and NodeClaims are in the category of AKS, and NodeClaims have no columns with IDs,
// which are as long as a line on Azure.
func present(core []*apiextensionsv1.CustomResourceDefinition) {
	for _, crd := range core {
		kind := crd.Spec.Names.Kind
		if kind == "NodePool" || kind == "NodeClaim" {
			crd.Spec.Names.Categories = append(crd.Spec.Names.Categories, category)
		}
		if kind != "NodeClaim" {
			continue
		}
		for i := range crd.Spec.Versions {
			version := &crd.Spec.Versions[i]
			version.AdditionalPrinterColumns = slices.DeleteFunc(version.AdditionalPrinterColumns, func(c apiextensionsv1.CustomResourceColumnDefinition) bool {
				return c.Name == "ID" || c.Name == "ImageID"
			})
		}
	}
}

// rules restrict the label domains of AKS nodes to the labels that users may name, and close the labels without a domain.
func rules() map[string]generator.Changes {
	key := restrict(keyIn, func(key string) string { return fmt.Sprintf("self != '%s'", key) })
	labels := restrict(func(_, domain string, allowed []string) string {
		return "self.all(k, " + keyIn("k", domain, allowed) + ")"
	}, func(key string) string { return fmt.Sprintf("!('%s' in self)", key) })
	return map[string]generator.Changes{
		"NodePool": {
			"spec template metadata labels":          labels,
			"spec template spec requirements [] key": key,
		},
		"NodeClaim":   {"spec requirements [] key": key},
		"NodeOverlay": {"spec requirements [] key": key},
	}
}

// restrict adds the rules, given the forms of those for a domain and for a label without one.
func restrict(within func(variable, domain string, allowed []string) string, without func(key string) string) func(*apiextensionsv1.JSONSchemaProps) {
	return func(s *apiextensionsv1.JSONSchemaProps) {
		add := func(message, rule string) {
			generator.AddRule(apiextensionsv1.ValidationRule{Message: message, Rule: rule})(s)
		}
		add(fmt.Sprintf("label domain %q is restricted", label.Domain), within("self", label.Domain, label.SKULabels()))
		add(fmt.Sprintf("label domain %q is restricted", label.AKSDomain), within("self", label.AKSDomain, label.AKSLabels()))
		for _, key := range label.LegacyLabels() {
			add(fmt.Sprintf("label %q is restricted", key), without(key))
		}
	}
}

// keyIn is the condition that the part of a key before the slash does not end with a domain, or that the key is one of allowed.
func keyIn(variable, domain string, allowed []string) string {
	return fmt.Sprintf(`%[1]s in ['%[2]s'] || !%[1]s.matches('^[^/]*%[3]s(/|$)')`, variable, strings.Join(allowed, "', '"), strings.ReplaceAll(domain, ".", "[.]"))
}
