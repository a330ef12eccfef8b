package manifest_test

import (
	"fmt"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	celmodel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// ruleLimit and definitionLimit are the largest estimated costs of a rule, and of all rules of a version, that the API server accepts:
// StaticEstimatedCostLimit and StaticEstimatedCRDCostLimit of apiextensions-apiserver.
const ruleLimit, definitionLimit = 10_000_000, 100_000_000

// TestRulesCostLessThanHalfOfTheLimit estimates the cost of the rules of all definitions as the API server does, which refuses a definition with a rule
// or a total beyond its limits. The margin is for changes of the estimate between versions of Kubernetes.
func TestRulesCostLessThanHalfOfTheLimit(t *testing.T) {
	rules := 0
	for _, crd := range kinds().definitions {
		for _, version := range crd.Spec.Versions {
			var internal apiextensions.JSONSchemaProps
			if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(version.Schema.OpenAPIV3Schema, &internal, nil); err != nil {
				t.Fatal(err)
			}
			schema, err := structuralschema.NewStructural(&internal)
			if err != nil {
				t.Fatal(err)
			}
			most, at, total := uint64(0), "", uint64(0)
			costs(t, schema, crd.Spec.Names.Kind, 1, true, func(where string, cost uint64) {
				rules++
				if total += cost; cost > most {
					most, at = cost, where
				}
			})
			t.Logf("%s %s: a rule costs up to %.1f %% of the limit (%s), all of them %.1f %%", crd.Spec.Names.Kind, version.Name,
				float64(most)/ruleLimit*100, at, float64(total)/definitionLimit*100)
			if most > ruleLimit/2 || total > definitionLimit/2 {
				t.Errorf("%s %s: a rule costs %d (%s), all of them %d", crd.Spec.Names.Kind, version.Name, most, at, total)
			}
		}
	}
	if rules < 50 {
		t.Errorf("%d rules were found", rules)
	}
}

// costs reports the cost of each rule of a schema, times how often it is evaluated; times is 0 for without a bound.
func costs(t *testing.T, s *structuralschema.Structural, at string, times uint64, root bool, report func(string, uint64)) {
	t.Helper()
	if len(s.XValidations) > 0 {
		results, err := cel.Compile(s, celmodel.SchemaDeclType(s, root), celconfig.PerCallLimit, environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()), cel.NewExpressionsEnvLoader())
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range results {
			if r.Error != nil {
				t.Errorf("%s: %v", at, r.Error)
			}
			n := times
			if n == 0 {
				n = r.MaxCardinality
			}
			report(fmt.Sprintf("%s, rule %d", at, i), r.MaxCost*n)
			report(fmt.Sprintf("%s, message of rule %d", at, i), r.MessageExpressionMaxCost)
		}
	}
	within := func(limit *int64) uint64 {
		if limit == nil {
			return 0
		}
		return times * uint64(*limit)
	}
	for name, property := range s.Properties {
		costs(t, &property, at+"."+name, times, property.XEmbeddedResource, report)
	}
	if s.Items != nil {
		costs(t, s.Items, at+"[]", within(maxItems(s)), s.Items.XEmbeddedResource, report)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
		costs(t, s.AdditionalProperties.Structural, at+".*", within(maxProperties(s)), false, report)
	}
}

func maxItems(s *structuralschema.Structural) *int64 {
	if s.ValueValidation == nil {
		return nil
	}
	return s.ValueValidation.MaxItems
}

func maxProperties(s *structuralschema.Structural) *int64 {
	if s.ValueValidation == nil {
		return nil
	}
	return s.ValueValidation.MaxProperties
}
