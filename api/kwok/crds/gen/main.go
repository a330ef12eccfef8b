// Command gen writes the CRDs of an installation with simulated nodes.
//
// Usage: go run ./api/kwok/crds/gen
package main

import (
	"log/slog"
	"os"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/karpenter-anew/karpenter/api/crds"
	"github.com/karpenter-anew/karpenter/api/crds/generator"
)

func main() {
	core, err := crds.Core()
	if err == nil {
		err = generator.GenerateProvider(generator.Provider{Folder: "api/kwok", Rules: rules()}, core)
	}
	if err != nil {
		slog.Error("generating CRDs", "error", err)
		os.Exit(1)
	}
}

// rules restrict the label domain of simulated nodes to the labels that they have.
func rules() map[string]generator.Changes {
	key := generator.AddRule(apiextensionsv1.ValidationRule{
		Message: `label domain "karpenter.kwok.sh" is restricted`,
		Rule: `self in ['karpenter.kwok.sh/kwoknodeclass', 'karpenter.kwok.sh/instance-cpu', 'karpenter.kwok.sh/instance-memory', ` +
			`'karpenter.kwok.sh/instance-family', 'karpenter.kwok.sh/instance-size'] || !self.matches('^[^/]*karpenter[.]kwok[.]sh(/|$)')`,
	})
	return map[string]generator.Changes{
		"NodePool":  {"spec template spec requirements [] key": key},
		"NodeClaim": {"spec requirements [] key": key},
	}
}
