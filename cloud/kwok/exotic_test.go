package kwok

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// TestExoticTypesOnlyWhereTheyAreAskedFor: launches in a region leave out bare metal and accelerators, as launches on AWS do, even if
// they are cheapest.
func TestExoticTypesOnlyWhereTheyAreAskedFor(t *testing.T) {
	types := func(names ...string) v1.NodeSelectorRequirementWithMinValues {
		return cloud.In(corev1.LabelInstanceTypeStable, names...)
	}
	ofTwo := types("inf1.xlarge", "c5.xlarge")
	ofTwo.MinValues = ptr.To(2)
	spot, arm := cloud.In(v1.CapacityTypeLabelKey, v1.CapacityTypeSpot), cloud.In(corev1.LabelArchStable, "arm64")
	for name, tc := range map[string]struct {
		requirements []v1.NodeSelectorRequirementWithMinValues
		requests     map[corev1.ResourceName]string
		family, size string
	}{
		"accelerator is cheaper": {
			requirements: []v1.NodeSelectorRequirementWithMinValues{spot, types("inf1.xlarge", "c5.xlarge")}, family: "c5", size: "xlarge",
		},
		"metal is cheaper": {
			requirements: []v1.NodeSelectorRequirementWithMinValues{spot, types("x2gd.metal", "x2gd.16xlarge")}, family: "x2gd", size: "16xlarge",
		},
		"metal is cheapest of all types": {
			requirements: []v1.NodeSelectorRequirementWithMinValues{spot, arm},
			requests:     map[corev1.ResourceName]string{"cpu": "60", "memory": "900Gi"}, family: "r8gd", size: "48xlarge",
		},
		"only accelerators are allowed": {
			requirements: []v1.NodeSelectorRequirementWithMinValues{spot, cloud.In(LabelInstanceFamily, "inf1")}, family: "inf1", size: "xlarge",
		},
		"only metal is allowed": {
			requirements: []v1.NodeSelectorRequirementWithMinValues{spot, types("x2gd.metal", "m5.metal")}, family: "x2gd", size: "metal",
		},
		"an accelerator is requested": {
			requirements: []v1.NodeSelectorRequirementWithMinValues{spot},
			requests:     map[corev1.ResourceName]string{"aws.amazon.com/neuron": "1"}, family: "inf1", size: "xlarge",
		},
		"variety is asked for": {requirements: []v1.NodeSelectorRequirementWithMinValues{spot, ofTwo}, family: "inf1", size: "xlarge"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, Options{Catalog: "aws/us-east-1"})
			claim := w.claim(tc.requirements...)
			claim.Spec.Resources.Requests = corev1.ResourceList{}
			for resource, quantity := range tc.requests {
				claim.Spec.Resources.Requests[resource] = resourceOf(quantity)
			}
			got, err := w.cloud.Provider.Create(t.Context(), claim)
			if err != nil {
				t.Fatal(err)
			}
			if got.Labels[LabelInstanceFamily] != tc.family || got.Labels[LabelInstanceSize] != tc.size {
				t.Errorf("launched %s, want %s.%s", got.Labels[corev1.LabelInstanceTypeStable], tc.family, tc.size)
			}
		})
	}
}
