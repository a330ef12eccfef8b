package provisioning

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/options"
)

// TestEveryClaimIsMarkedForItself: in one pass one claim is launched with relaxed minValues, and another of the same pool is not.
func TestEveryClaimIsMarkedForItself(t *testing.T) {
	t.Attr("covers", "L314")
	w := newHarness(t, readyPool("default", func(p *v1.NodePool) {
		p.Spec.Template.Annotations = map[string]string{"note": "kept"}
		p.Spec.Template.Spec.Requirements = []v1.NodeSelectorRequirementWithMinValues{
			{Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpExists, MinValues: new(2)},
		}
	}))
	w.p.Scheduling.MinValuesPolicy = options.MinValuesBestEffort
	w.Provider.Types = append(w.Provider.Types, instanceType("twin", "zone-1")) // in the other zone there is one type only
	w.see(
		pendingPod("varied", selecting(corev1.LabelTopologyZone, "zone-1")),
		pendingPod("single", selecting(corev1.LabelTopologyZone, "zone-2")),
	)
	w.decide()
	claims := w.claims()
	if len(claims) != 2 {
		t.Fatalf("%d claims, want two", len(claims))
	}
	for i := range claims {
		want := map[string]string{"zone-1": "false", "zone-2": "true"}[zonesOf(claims[i : i+1])[0]]
		if got := claims[i].Annotations[v1.NodeClaimMinValuesRelaxedAnnotationKey]; got != want || claims[i].Annotations["note"] != "kept" {
			t.Errorf("the claim in %v says %q, want %q; all annotations %v", zonesOf(claims[i:i+1]), got, want, claims[i].Annotations)
		}
	}
	for _, relaxed := range []string{"true", "false"} {
		got := w.Count("karpenter_nodeclaims_created_total", "reason=provisioned", "nodepool=default", "min_values_relaxed="+relaxed)
		if got != 1 {
			t.Errorf("%v claims were counted as relaxed %s, want 1", got, relaxed)
		}
	}
}
