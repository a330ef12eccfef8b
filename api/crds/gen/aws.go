package main

import (
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
)

// awsKey is the condition that a label is not in the domain of EC2 instances or is one of those that may be used. The
// domain is told by its suffix.
func awsKey(variable string, allowed []string) string {
	return fmt.Sprintf(`%[1]s in ['%[2]s'] || !%[1]s.matches('^[^/]*karpenter[.]k8s[.]aws(/|$)')`, variable, strings.Join(allowed, "', '"))
}

// ruleAWSDomain closes the label domain of EC2 instances, except for some labels.
func ruleAWSDomain(condition string) apiextensionsv1.ValidationRule {
	return apiextensionsv1.ValidationRule{Message: `label domain "karpenter.k8s.aws" is restricted`, Rule: condition}
}

// closeAWSDomain makes the changes to a CRD that hold on AWS.
func closeAWSDomain(crd *apiextensionsv1.CustomResourceDefinition) error {
	all := slices.Concat(awsv1.LaunchLabels(), awsv1.InstanceLabels())
	key := addRule(ruleAWSDomain(awsKey("self", all)))
	switch crd.Spec.Names.Kind {
	case "NodePool":
		return edit(crd, map[string]func(*apiextensionsv1.JSONSchemaProps){
			"spec template metadata labels":          addRule(ruleAWSDomain("self.all(k, " + awsKey("k", all) + ")")),
			"spec template spec requirements [] key": key,
		})
	case "NodeClaim":
		return edit(crd, map[string]func(*apiextensionsv1.JSONSchemaProps){"spec requirements [] key": key})
	case "NodeOverlay":
		return edit(crd, map[string]func(*apiextensionsv1.JSONSchemaProps){
			"spec requirements [] key": addRule(ruleAWSDomain(awsKey("self", awsv1.InstanceLabels()))),
		})
	}
	return nil
}
