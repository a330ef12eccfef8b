package crds_test

import (
	"testing"

	"github.com/karpenter-anew/karpenter/api/crds"
	"github.com/karpenter-anew/karpenter/test/crdtest"
)

// kinds is the inventory by name of the CRD.
func kinds() map[string]crdtest.Kind {
	return map[string]crdtest.Kind{
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
		"operationspolicies.ops.karpenter.sh": {
			Group: "ops.karpenter.sh", Version: "v1alpha1", Plural: "operationspolicies", Singular: "operationspolicy", Kind: "OperationsPolicy", ListKind: "OperationsPolicyList",
			ShortNames: []string{"opspolicy"}, Categories: []string{"karpenter"}, Scope: "Cluster", Subresources: "status",
			Required: []string{"spec"},
			Columns: []string{
				`Ready string .status.conditions[?(@.type=="Ready")].status 0`,
				`Frozen-Until string .spec.freeze.until 0`,
				`Age date .metadata.creationTimestamp 0`,
			},
		},
		"disruptionplans.ops.karpenter.sh": {
			Group: "ops.karpenter.sh", Version: "v1alpha1", Plural: "disruptionplans", Singular: "disruptionplan", Kind: "DisruptionPlan", ListKind: "DisruptionPlanList",
			ShortNames: []string{"dplan"}, Categories: []string{"karpenter"}, Scope: "Cluster", Subresources: "status",
			Required: []string{"spec"},
			Columns: []string{
				`Phase string .status.phase 0`,
				`Reason string .spec.reason 0`,
				`Action string .spec.action 0`,
				`Saves string .spec.savingsPerHour 0`,
				`Risk integer .spec.risk 0`,
				`Decided-By string .spec.decision.by 0`,
				`Expires string .spec.expiresAt 0`,
				`Age date .metadata.creationTimestamp 0`,
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
	}
}

// TestInventory compares the shipped definitions with the inventory.
func TestInventory(t *testing.T) {
	definitions, err := crds.Core()
	if err != nil {
		t.Fatal(err)
	}
	crdtest.Inventory(t, definitions, kinds())
}
