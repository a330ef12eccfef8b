package main

import (
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// TestDefinitionsOfEarlierAPIsAreThereWhereTheyAreServed: the controller waits for them on every cloud.
func TestDefinitionsOfEarlierAPIsAreThereWhereTheyAreServed(t *testing.T) {
	for _, cloud := range []string{"kwok", cloudAWS, cloudAzure} {
		for gates, want := range map[string]bool{"": false, "NodeRepair=true,LegacyProvisioner=true": true} {
			t.Setenv("FEATURE_GATES", gates)
			all, err := definitions(settings{cloud: cloud})
			if err != nil {
				t.Fatal(err)
			}
			legacy := func(crd *apiextensionsv1.CustomResourceDefinition) bool { return crd.Spec.Names.Kind == "Provisioner" }
			if got := slices.ContainsFunc(all, legacy); got != want {
				t.Errorf("%s with %q: Provisioners are defined: %v", cloud, gates, got)
			}
		}
	}
}
