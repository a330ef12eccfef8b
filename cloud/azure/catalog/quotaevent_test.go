package catalog_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/quota"
)

// TestPoolsWithoutQuota checks which pools have an event because quotas of 0 prevent all of their nodes.
func TestPoolsWithoutQuota(t *testing.T) {
	d2s, d4s, d2 := "Standard_D2s_v3", "Standard_D4s_v3", "Standard_D2_v3"
	onDemand := cloud.In(v1.CapacityTypeLabelKey, v1.CapacityTypeOnDemand)
	for title, test := range map[string]struct {
		allowed []v1.NodeSelectorRequirementWithMinValues
		left    int64
		want    string // part of the event; empty for none
	}{
		"a quota of 0":          {[]v1.NodeSelectorRequirementWithMinValues{onDemand, cloud.In(corev1.LabelInstanceTypeStable, d2s, d4s)}, 0, "family standardDSv3Family"},
		"in one zone":           {[]v1.NodeSelectorRequirementWithMinValues{onDemand, cloud.In(corev1.LabelInstanceTypeStable, d2s), cloud.In(corev1.LabelTopologyZone, location+"-1")}, 0, "family standardDSv3Family"},
		"with its own labels":   {[]v1.NodeSelectorRequirementWithMinValues{onDemand, cloud.In(corev1.LabelInstanceTypeStable, d2s), cloud.In("example.com/team", "a")}, 0, "family standardDSv3Family"},
		"enough for the others": {[]v1.NodeSelectorRequirementWithMinValues{onDemand, cloud.In(corev1.LabelInstanceTypeStable, d2s, d4s)}, 3, ""},
		"not enough for any":    {[]v1.NodeSelectorRequirementWithMinValues{onDemand, cloud.In(corev1.LabelInstanceTypeStable, d2s, d4s)}, 1, "family standardDSv3Family"},
		"spot is allowed":       {[]v1.NodeSelectorRequirementWithMinValues{cloud.In(corev1.LabelInstanceTypeStable, d2s)}, 0, ""},
		"another family":        {[]v1.NodeSelectorRequirementWithMinValues{onDemand, cloud.In(corev1.LabelInstanceTypeStable, d2s, d2)}, 0, ""},
		"nothing is allowed":    {[]v1.NodeSelectorRequirementWithMinValues{onDemand, cloud.In(corev1.LabelInstanceTypeStable, "none")}, 0, ""},
		"all are allowed":       {nil, 0, ""},
	} {
		t.Run(title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "pool", UID: "uid"}}
				pool.Spec.Template.Spec.NodeClassRef = &v1.NodeClassReference{Group: v1beta1.Group, Kind: "AKSNodeClass", Name: "default"}
				pool.Spec.Template.Spec.Requirements = test.allowed
				events := func() int {
					t.Helper()
					w.events = nil
					if _, err := w.InstanceTypes(t.Context(), pool); err != nil {
						t.Fatal(err)
					}
					return len(w.events)
				}
				if n := events(); n > 0 {
					t.Errorf("before the quota is known: %v", w.events)
				}
				w.Quota.Refresh([]quota.Usage{{Name: "standardDSv3Family", Limit: 10, Current: 10 - test.left}})
				if n := events(); n > 0 {
					t.Errorf("at once: %v", w.events)
				}
				time.Sleep(time.Minute)
				switch n := events(); {
				case test.want == "" && n > 0, test.want != "" && (n != 1 || w.events[0].Reason != "QuotaExceeded" || !strings.Contains(w.events[0].Message, test.want+": request more quota")):
					t.Errorf("events %v, want %q", w.events, test.want)
				}
			})
		})
	}
}
