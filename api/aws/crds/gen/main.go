// Command gen writes the CRDs of an installation on AWS.
//
// Usage: go run ./api/aws/crds/gen
package main

import (
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/api/crds"
	"github.com/karpenter-anew/karpenter/api/crds/generator"
)

func main() {
	core, err := crds.Core()
	if err == nil {
		err = generator.GenerateProvider(generator.Provider{Folder: "api/aws", Rules: rules()}, core)
	}
	if err != nil {
		slog.Error("generating CRDs", "error", err)
		os.Exit(1)
	}
}

// rules restrict the label domain of EC2 instances to the labels that they have. NodeOverlays can use only the labels of
// an instance type, which do not depend on how an instance is bought and where it is placed.
func rules() map[string]generator.Changes {
	all := slices.Concat(awsv1.LaunchLabels(), awsv1.InstanceLabels())
	key := restrict(keyIn("self", all))
	return map[string]generator.Changes{
		"NodePool": {
			"spec template metadata labels":          restrict("self.all(k, " + keyIn("k", all) + ")"),
			"spec template spec requirements [] key": key,
		},
		"NodeClaim":   {"spec requirements [] key": key},
		"NodeOverlay": {"spec requirements [] key": restrict(keyIn("self", awsv1.InstanceLabels()))},
	}
}

// restrict adds the rule on the label domain.
func restrict(rule string) func(*apiextensionsv1.JSONSchemaProps) {
	return generator.AddRule(apiextensionsv1.ValidationRule{Message: `label domain "karpenter.k8s.aws" is restricted`, Rule: rule})
}

// keyIn is the condition that a label is not in the domain of EC2 instances, which its suffix shows, or is one of allowed.
func keyIn(variable string, allowed []string) string {
	return fmt.Sprintf(`%[1]s in ['%[2]s'] || !%[1]s.matches('^[^/]*karpenter[.]k8s[.]aws(/|$)')`, variable, strings.Join(allowed, "', '"))
}
