package v1alpha1_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/api/v1alpha1"
)

func TestRuntimeValidate(t *testing.T) {
	kwok := v1.CoreLabelRules().With([]string{"karpenter.kwok.sh/instance-cpu"}, []string{"karpenter.kwok.sh"})
	requires := func(key, operator string, values ...string) v1alpha1.NodeOverlaySpec {
		return v1alpha1.NodeOverlaySpec{Requirements: []v1alpha1.NodeSelectorRequirement{
			{Key: key, Operator: corev1.NodeSelectorOperator(operator), Values: values},
		}}
	}
	adds := func(names ...corev1.ResourceName) v1alpha1.NodeOverlaySpec {
		capacity := corev1.ResourceList{}
		for _, name := range names {
			capacity[name] = apiresource.MustParse("1")
		}
		return v1alpha1.NodeOverlaySpec{Capacity: capacity}
	}
	for _, test := range []struct {
		name string
		spec v1alpha1.NodeOverlaySpec
		// want are parts of the error, one for each message in it; no error if there are none.
		want []string
	}{
		{"nothing", v1alpha1.NodeOverlaySpec{}, nil},
		{"In", requires("a", "In", "x"), nil},
		{"NotIn", requires("a", "NotIn", "x"), nil},
		{"NotIn without values", requires("a", "NotIn"), []string{`spec.requirements[0]: key "a": operator NotIn needs at least one value`}},
		{"NotIn without values under an old name", requires("beta.kubernetes.io/arch", "NotIn"), []string{`key "kubernetes.io/arch": operator NotIn`}},
		{"In without values", requires("a", "In"), []string{"operator In needs at least one value"}},
		{"unknown operator", requires("a", "Equals", "x"), []string{`operator "Equals"`}},
		{"bound", requires("a", "Gte", "0"), nil},
		{"fractional bound", requires("a", "Gte", "1.5"), []string{"exactly one value"}},
		{"bad value", requires("a", "NotIn", "bad value!"), []string{`value "bad value!" is not a label value`}},
		{"unknown capacity type", requires(v1.CapacityTypeLabelKey, "In", "sport"), []string{"none of the values"}},
		{"the pool", requires(v1.NodePoolLabelKey, "In", "default"), nil},
		{"closed domain", requires("karpenter.sh/foo", "Exists"), []string{"is restricted"}},
		{"closed domain of the cloud", requires("karpenter.kwok.sh/foo", "Exists"), []string{"is restricted"}},
		{"well known by the cloud", requires("karpenter.kwok.sh/instance-cpu", "Gt", "3"), nil},
		{"host name", requires("kubernetes.io/hostname", "Exists"), []string{"the label is restricted"}},
		{"bad key", requires("bad key", "Exists"), []string{"not a qualified name"}},
		{"extended resources", adds("example.com/device", "hugepages-2Mi"), nil},
		{"amounts that no node can have", v1alpha1.NodeOverlaySpec{Capacity: corev1.ResourceList{
			"example.com/negative": apiresource.MustParse("-3"), "example.com/half": apiresource.MustParse("0.5"), "example.com/many": apiresource.MustParse("2k"),
		}}, []string{`spec.capacity["example.com/half"]: 500m is not an integer`, `spec.capacity["example.com/negative"]: -3 is negative`}},
		{"resources of the cloud", adds("pods", "memory", "cpu", "ephemeral-storage", "example.com/device"), []string{
			`spec.capacity["cpu"]`, `spec.capacity["memory"]`, `spec.capacity["ephemeral-storage"]`, `spec.capacity["pods"]`,
		}},
		{"everything at once", v1alpha1.NodeOverlaySpec{
			Requirements: []v1alpha1.NodeSelectorRequirement{{Key: "a", Operator: "Exists"}, {Key: "karpenter.sh/foo", Operator: "NotIn"}},
			Capacity:     adds("cpu").Capacity,
		}, []string{"spec.requirements[1]: key", "spec.requirements[1]: key", `spec.capacity["cpu"]`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := (&v1alpha1.NodeOverlay{Spec: test.spec}).RuntimeValidate(kwok)
			if err == nil {
				if len(test.want) > 0 {
					t.Errorf("accepted, want %q", test.want)
				}
				return
			}
			messages := strings.Split(err.Error(), "; ")
			if len(messages) != len(test.want) {
				t.Fatalf("got %q, want %q", messages, test.want)
			}
			for i, want := range test.want {
				if !strings.Contains(messages[i], want) {
					t.Errorf("message %d: got %q, want %q", i, messages[i], want)
				}
			}
		})
	}
}
