package catalog_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/azure/label"
	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/azure/choice"
	"github.com/karpenter-anew/karpenter/cloud/azure/quota"
	"github.com/karpenter-anew/karpenter/internal/simulation"
)

// poolOf is a NodePool with a weight and one requirement for on-demand nodes of a series.
func poolOf(name string, weight int32, series string) *v1.NodePool {
	out := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
	out.Spec.Weight = &weight
	out.Spec.Template.Spec.NodeClassRef = &v1.NodeClassReference{Group: v1beta1.Group, Kind: "AKSNodeClass", Name: "default"}
	out.Spec.Template.Spec.Requirements = []v1.NodeSelectorRequirementWithMinValues{
		cloud.In(label.SKUSeries, series), cloud.In(v1.CapacityTypeLabelKey, v1.CapacityTypeOnDemand),
	}
	return out
}

// pending is a pod that requests a CPU and requires labels.
func pending(labels map[string]string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "pod", Namespace: "default", UID: "pod"},
		Spec: corev1.PodSpec{NodeSelector: labels, Containers: []corev1.Container{{
			Name: "main", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}},
		}}},
		Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable},
		}},
	}
}

// planned plans a pod and chooses what is launched for it: pool, instance type and zone, or the reason why there is none.
func (w *world) planned(t *testing.T, pod *corev1.Pod) string {
	t.Helper()
	class := &v1beta1.AKSNodeClass{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1beta1.SchemeGroupVersion.String(), Kind: "AKSNodeClass"},
		ObjectMeta: metav1.ObjectMeta{Name: "default"},
		Status:     v1beta1.AKSNodeClassStatus{Conditions: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue}}},
	}
	c := cloud.Cloud{
		Name: "azure", Provider: &launches{world: w}, Labels: label.Rules(),
		NodeClasses: []cloud.NodeClass{{GVK: v1beta1.SchemeGroupVersion.WithKind("AKSNodeClass"), New: func() cloud.NodeClassObject { return &v1beta1.AKSNodeClass{} }}},
	}
	result, err := simulation.Run(t.Context(), []client.Object{class, poolOf("first", 10, "Ds_v3"), poolOf("second", 1, "Das_v6"), pod}, c, simulation.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Claims) != 1 {
		return result.Text()
	}
	chosen, err := choice.Choose(choice.Input{
		Claim: result.Claims[0], Offerings: cloud.NewOfferingList(w.types(t, class), label.Rules()), SKU: w.SKU, Unavailable: w.UnavailableOfferings, Random: func(int) int { return 0 },
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s %s %s", result.Claims[0].Labels[v1.NodePoolLabelKey], chosen.InstanceType.Name, chosen.Attempt.Zone)
}

// TestPlans plans pods with the instance types of a catalog: NodeClaims can be launched as what they were planned with.
func TestPlans(t *testing.T) {
	t.Attr("covers", "Z024 Z057 Z071")
	exhausted := []quota.Usage{{Name: "standardDSv3Family", Limit: 10, Current: 10}}
	for _, test := range []struct {
		what   string
		quota  []quota.Usage
		labels map[string]string
		disk   string // the ephemeral disk has to be larger, in GB
		want   string
	}{
		{"an ephemeral disk", nil, nil, "1000", "first Standard_D64s_v3 southcentralus-1"},
		{"an ephemeral disk that no size has", nil, nil, "1717", ""},
		{"a pod without requirements", nil, nil, "", "first Standard_D2s_v3 southcentralus-1"},
		{"the family of the first pool has no quota", exhausted, nil, "", "second Standard_D2as_v6 southcentralus-2"},
		{"a zone", nil, map[string]string{corev1.LabelTopologyZone: "southcentralus-3"}, "", "first Standard_D2s_v3 southcentralus-3"},
		{"no zone", nil, map[string]string{corev1.LabelTopologyZone: "0"}, "", "first Standard_D2s_v3 0"},
		{"regional placement", nil, map[string]string{label.PlacementScope: "regional"}, "", "first Standard_D2s_v3 0"},
		{"ultra disks, which need regional placement here", nil, map[string]string{label.SKUUltraSSD: "true"}, "", "first Standard_D2s_v3 0"},
		{"more CPUs", nil, map[string]string{label.SKUCPU: "64"}, "", "first Standard_D64s_v3 southcentralus-1"},
		{"a generation of Hyper-V, which users cannot name", nil, map[string]string{label.SKUHyperVGeneration: "2"}, "", ""},
	} {
		w := newWorld(t)
		w.Quota.Refresh(test.quota)
		pod := pending(test.labels)
		if test.disk != "" {
			pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
					{Key: label.SKUEphemeralOSDiskMax, Operator: corev1.NodeSelectorOpGt, Values: []string{test.disk}},
				}}},
			}}}
		}
		got := w.planned(t, pod)
		if test.want != "" && got != test.want || test.want == "" && !strings.Contains(got, "total 0 nodes") {
			t.Errorf("%s: %s, want %s", test.what, got, test.want)
		}
	}
}
