package provider_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/api/v1alpha1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
)

// overlayOf is an overlay that is in force and has a price for an instance type.
func overlayOf(name, instanceType, price string) *v1alpha1.NodeOverlay {
	o := &v1alpha1.NodeOverlay{ObjectMeta: metav1.ObjectMeta{Name: name}}
	o.Spec.Price = &price
	o.Spec.Requirements = []v1alpha1.NodeSelectorRequirement{{Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpIn, Values: []string{instanceType}}}
	o.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionTypeValidationSucceeded, Status: metav1.ConditionTrue}}
	return o
}

// TestPricesThatUsersWrite asks for spot in a zone where AWS names no price for it: it is to be had when the user has one, at that price.
func TestPricesThatUsersWrite(t *testing.T) {
	t.Attr("covers", "A242")
	const local = "us-east-1-bos-1a"
	w := newWorld(t, "m5.large")
	w.account.AddSubnet(awstest.Subnet{ID: "subnet-local", Zone: local, ZoneID: "use1-bos1-az1", Free: 100, Tags: map[string]string{"karpenter.sh/discovery": "test"}})
	w.account.AddOffering("m5.large", local, 0)
	if err := w.Catalog.Inventory.RefreshTypes(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.clock.Step(time.Minute) // for which subnets are remembered
	w.resolve(func(*awsv1.EC2NodeClass) {})
	price := func() float64 {
		t.Helper()
		types, err := w.InstanceTypes(t.Context(), w.pool)
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range types {
			for _, o := range it.Offerings {
				if it.Name == "m5.large" && o.Zone() == local && o.CapacityType() == "spot" && o.Available {
					return o.Price
				}
			}
		}
		return 0
	}
	refused := overlayOf("refused", "m5.large", "1")
	refused.Status.Conditions[0].Status = metav1.ConditionFalse
	narrow := overlayOf("narrow", "m5.large", "2")
	narrow.Spec.Requirements = append(narrow.Spec.Requirements, v1alpha1.NodeSelectorRequirement{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpExists})
	adjusted := overlayOf("adjusted", "m5.large", "3")
	adjusted.Spec.Price, adjusted.Spec.PriceAdjustment = nil, adjusted.Spec.Price
	w.Catalog.UsesOverlays = true
	for _, o := range []*v1alpha1.NodeOverlay{refused, narrow, adjusted, overlayOf("other", "m5.metal", "4")} {
		if err := w.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if got := price(); got != 0 {
			t.Errorf("by overlay %s, which says nothing of it, it costs %g", o.Name, got)
		}
	}
	if err := w.Client.Create(t.Context(), overlayOf("light", "m5.large", "0.5")); err != nil {
		t.Fatal(err)
	}
	if got := price(); got != 0.5 {
		t.Errorf("it costs %g, want 0.5", got)
	}
	heavy := overlayOf("heavy", "m5.large", "0.25")
	heavy.Spec.Weight = new(int32(10))
	if err := w.Client.Create(t.Context(), heavy); err != nil {
		t.Fatal(err)
	}
	if got := price(); got != 0.25 {
		t.Errorf("with an overlay of more weight it costs %g, want 0.25", got)
	}
	w.create(w.claim(cloud.In(corev1.LabelTopologyZone, local), cloud.In(v1.CapacityTypeLabelKey, "spot")))
	if i := w.account.Instances()[0]; !i.Spot || i.Zone != local {
		t.Errorf("launched %+v", i)
	}
	w.Catalog.UsesOverlays = false
	if got := price(); got != 0 {
		t.Errorf("where overlays are off it costs %g", got)
	}
}
