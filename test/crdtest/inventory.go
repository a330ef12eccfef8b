package crdtest

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Kind is what users see of a kind without looking at its fields.
type Kind struct {
	Group, Version, Plural, Singular, Kind, ListKind string
	ShortNames, Categories                           []string
	Scope                                            string
	Subresources                                     string
	Required                                         []string
	// Columns holds, per printer column, name, type, path and priority.
	Columns []string
}

// Inventory compares definitions with an inventory, by name of the definition.
func Inventory(t *testing.T, definitions []*apiextensionsv1.CustomResourceDefinition, want map[string]Kind) {
	t.Helper()
	got := map[string]Kind{}
	for _, definition := range definitions {
		got[definition.Name] = KindOf(t, definition)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// KindOf returns the inventory of one definition.
func KindOf(t *testing.T, definition *apiextensionsv1.CustomResourceDefinition) Kind {
	t.Helper()
	spec := definition.Spec
	if len(spec.Versions) != 1 || !spec.Versions[0].Served || !spec.Versions[0].Storage {
		t.Fatalf("%s: want exactly one version, served and stored", definition.Name)
	}
	version := spec.Versions[0]
	var subresources []string
	if version.Subresources.Status != nil {
		subresources = append(subresources, "status")
	}
	if scale := version.Subresources.Scale; scale != nil {
		subresources = append(subresources, "scale("+scale.SpecReplicasPath+" "+scale.StatusReplicasPath+")")
		if scale.LabelSelectorPath != nil {
			t.Errorf("%s: the scale subresource has a label selector", definition.Name)
		}
	}
	var columns []string
	for _, column := range version.AdditionalPrinterColumns {
		columns = append(columns, strings.Join([]string{column.Name, column.Type, column.JSONPath, strconv.Itoa(int(column.Priority))}, " "))
	}
	return Kind{
		Group: spec.Group, Version: version.Name, Plural: spec.Names.Plural, Singular: spec.Names.Singular,
		Kind: spec.Names.Kind, ListKind: spec.Names.ListKind, ShortNames: spec.Names.ShortNames,
		Categories: spec.Names.Categories, Scope: string(spec.Scope), Subresources: strings.Join(subresources, " "),
		Required: version.Schema.OpenAPIV3Schema.Required, Columns: columns,
	}
}
