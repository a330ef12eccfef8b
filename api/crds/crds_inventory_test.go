package crds_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	awscrds "github.com/karpenter-anew/karpenter/api/aws/crds"
	"github.com/karpenter-anew/karpenter/api/crds"
	kwokcrds "github.com/karpenter-anew/karpenter/api/kwok/crds"
)

// kind is what users see of a kind without looking at its fields.
type kind struct {
	Group, Version, Plural, Singular, Kind, ListKind string
	ShortNames, Categories                           []string
	Scope                                            string
	Subresources                                     string
	Required                                         []string
	// Columns holds, per printer column, name, type, path and priority.
	Columns []string
}

// kinds is the inventory by name of the CRD.
func kinds() map[string]kind {
	return map[string]kind{
		"nodepools.karpenter.sh": {
			Group: "karpenter.sh", Version: "v1", Plural: "nodepools", Singular: "nodepool", Kind: "NodePool", ListKind: "NodePoolList",
			Categories: []string{"karpenter"}, Scope: "Cluster", Subresources: "status scale(.spec.replicas .status.nodes)",
			Required: []string{"spec"},
			Columns: []string{
				`NodeClass string .spec.template.spec.nodeClassRef.name 0`,
				`Nodes string .status.nodes 0`,
				`Ready string .status.conditions[?(@.type=="Ready")].status 0`,
				`Age date .metadata.creationTimestamp 0`,
				`Weight integer .spec.weight 1`,
				`CPU string .status.resources.cpu 1`,
				`Memory string .status.resources.memory 1`,
			},
		},
		"nodeclaims.karpenter.sh": {
			Group: "karpenter.sh", Version: "v1", Plural: "nodeclaims", Singular: "nodeclaim", Kind: "NodeClaim", ListKind: "NodeClaimList",
			Categories: []string{"karpenter"}, Scope: "Cluster", Subresources: "status",
			Required: []string{"spec"},
			Columns: []string{
				`Type string .metadata.labels.node\.kubernetes\.io/instance-type 0`,
				`Capacity string .metadata.labels.karpenter\.sh/capacity-type 0`,
				`Zone string .metadata.labels.topology\.kubernetes\.io/zone 0`,
				`Node string .status.nodeName 0`,
				`Ready string .status.conditions[?(@.type=="Ready")].status 0`,
				`Age date .metadata.creationTimestamp 0`,
				`ImageID string .status.imageID 1`,
				`ID string .status.providerID 1`,
				`NodePool string .metadata.labels.karpenter\.sh/nodepool 1`,
				`NodeClass string .spec.nodeClassRef.name 1`,
				`Drifted string .status.conditions[?(@.type=="Drifted")].status 1`,
			},
		},
		"nodeoverlays.karpenter.sh": {
			Group: "karpenter.sh", Version: "v1alpha1", Plural: "nodeoverlays", Singular: "nodeoverlay", Kind: "NodeOverlay", ListKind: "NodeOverlayList",
			ShortNames: []string{"overlays"}, Categories: []string{"karpenter"}, Scope: "Cluster", Subresources: "status",
			Required: []string{"spec"},
			Columns: []string{
				`Ready string .status.conditions[?(@.type=="Ready")].status 0`,
				`Age date .metadata.creationTimestamp 0`,
				`Weight integer .spec.weight 1`,
			},
		},
		"capacitybuffers.autoscaling.x-k8s.io": {
			Group: "autoscaling.x-k8s.io", Version: "v1beta1", Plural: "capacitybuffers", Singular: "capacitybuffer", Kind: "CapacityBuffer", ListKind: "CapacityBufferList",
			ShortNames: []string{"cb"}, Categories: []string{"autoscaling"}, Scope: "Namespaced", Subresources: "status",
			Required: []string{"spec"},
			Columns: []string{
				`Strategy string .spec.provisioningStrategy 0`,
				`PodTemplate string .status.podTemplateRef.name 0`,
				`Replicas integer .status.replicas 0`,
				`ConditionsType string .status.conditions[*].type 0`,
				`ConditionsStatus string .status.conditions[*].status 0`,
				`ConditionsReason string .status.conditions[*].reason 0`,
				`Age date .metadata.creationTimestamp 0`,
			},
		},
		"kwoknodeclasses.karpenter.kwok.sh": {
			Group: "karpenter.kwok.sh", Version: "v1alpha1", Plural: "kwoknodeclasses", Singular: "kwoknodeclass", Kind: "KWOKNodeClass", ListKind: "KWOKNodeClassList",
			ShortNames: []string{"kwoknc", "kwokncs"}, Categories: []string{"karpenter"}, Scope: "Cluster", Subresources: "status",
		},
		"ec2nodeclasses.karpenter.k8s.aws": {
			Group: "karpenter.k8s.aws", Version: "v1", Plural: "ec2nodeclasses", Singular: "ec2nodeclass", Kind: "EC2NodeClass", ListKind: "EC2NodeClassList",
			ShortNames: []string{"ec2nc", "ec2ncs"}, Categories: []string{"karpenter"}, Scope: "Cluster", Subresources: "status",
			Columns: []string{
				`Ready string .status.conditions[?(@.type=="Ready")].status 0`,
				`Age date .metadata.creationTimestamp 0`,
				`Role string .spec.role 1`,
			},
		},
	}
}

// TestInventory compares the shipped definitions with the inventory.
func TestInventory(t *testing.T) {
	core, kwok, aws := kinds(), kinds(), kinds()
	for _, set := range []map[string]kind{core, aws} {
		delete(set, "kwoknodeclasses.karpenter.kwok.sh")
	}
	for _, set := range []map[string]kind{core, kwok} {
		delete(set, "ec2nodeclasses.karpenter.k8s.aws")
	}
	for _, set := range []struct {
		name string
		read func() ([]*apiextensionsv1.CustomResourceDefinition, error)
		want map[string]kind
	}{{"core", crds.Core, core}, {"kwok", kwokcrds.Definitions, kwok}, {"aws", awscrds.Definitions, aws}} {
		t.Run(set.name, func(t *testing.T) {
			definitions, err := set.read()
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]kind{}
			for _, definition := range definitions {
				got[definition.Name] = inventory(t, definition)
			}
			if diff := cmp.Diff(set.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// inventory extracts what the inventory lists.
func inventory(t *testing.T, definition *apiextensionsv1.CustomResourceDefinition) kind {
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
	return kind{
		Group: spec.Group, Version: version.Name, Plural: spec.Names.Plural, Singular: spec.Names.Singular,
		Kind: spec.Names.Kind, ListKind: spec.Names.ListKind, ShortNames: spec.Names.ShortNames,
		Categories: spec.Names.Categories, Scope: string(spec.Scope), Subresources: strings.Join(subresources, " "),
		Required: version.Schema.OpenAPIV3Schema.Required, Columns: columns,
	}
}
