package cloud_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// entry is one API requirement.
func entry(key string, op corev1.NodeSelectorOperator, values ...string) v1.NodeSelectorRequirementWithMinValues {
	return v1.NodeSelectorRequirementWithMinValues{Key: key, Operator: op, Values: values}
}

func TestRequirementsOfOneKeyAreIntersected(t *testing.T) {
	t.Attr("covers", "L032")
	two := 2
	withMin := entry("size", corev1.NodeSelectorOpIn, "1", "4", "9")
	withMin.MinValues = &two
	tests := []struct {
		name    string
		entries []v1.NodeSelectorRequirementWithMinValues
		want    string
	}{
		{"none", nil, ""},
		{
			"old keys become new ones",
			[]v1.NodeSelectorRequirementWithMinValues{
				entry("failure-domain.beta.kubernetes.io/zone", corev1.NodeSelectorOpIn, "a", "b"),
				entry("topology.kubernetes.io/zone", corev1.NodeSelectorOpNotIn, "a"),
			},
			"topology.kubernetes.io/zone In [b]",
		},
		{
			"bounds and minValues",
			[]v1.NodeSelectorRequirementWithMinValues{withMin, entry("size", corev1.NodeSelectorOpGt, "1")},
			"size In [4 9] minValues 2",
		},
		{
			"contradiction",
			[]v1.NodeSelectorRequirementWithMinValues{
				entry("team", corev1.NodeSelectorOpIn, "a"), entry("team", corev1.NodeSelectorOpDoesNotExist),
			},
			"team DoesNotExist",
		},
		{
			"inclusive bounds",
			[]v1.NodeSelectorRequirementWithMinValues{entry("size", "Gte", "2"), entry("size", "Lte", "8")},
			"size Exists >=2 <=8",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := cloud.Requirements(tt.entries, v1.CoreLabelRules()).String(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestLessThanZeroAcceptsNothing: no label value is a negative integer, and a requirement of a NodeClaim may not have -1 as a bound.
func TestLessThanZeroAcceptsNothing(t *testing.T) {
	open := requirement.NewSet(requirement.New("k", requirement.Exists))
	for bound, want := range map[string]bool{"-1": false, "0": false, "00": false, "1": true, "9223372036854775807": true} {
		set := cloud.Requirements([]v1.NodeSelectorRequirementWithMinValues{entry("k", corev1.NodeSelectorOpLt, bound)}, v1.CoreLabelRules())
		if got := open.Compatible(set, requirement.Strict); got != want {
			t.Errorf("Lt %s can be met: %v, want %v", bound, got, want)
		}
	}
}

func TestLabelRequirements(t *testing.T) {
	got := cloud.LabelRequirements(map[string]string{"beta.kubernetes.io/arch": "arm64", "team": "a"}, v1.CoreLabelRules())
	if want := "kubernetes.io/arch In [arm64], team In [a]"; got.String() != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestDeprecatedValuesBecomeCurrent(t *testing.T) {
	t.Attr("covers", "L033")
	rules := v1.CoreLabelRules()
	rules.ValueAliases = map[string]map[string]string{corev1.LabelTopologyZone: {"none": "everywhere"}}
	values := []string{"none", "a"}
	got := cloud.Requirement("failure-domain.beta.kubernetes.io/zone", corev1.NodeSelectorOpIn, values, rules)
	if want := "topology.kubernetes.io/zone In [a everywhere]"; got.String() != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if values[0] != "none" {
		t.Errorf("the argument became %q", values)
	}
	labels := cloud.LabelRequirements(map[string]string{corev1.LabelTopologyZone: "none"}, rules)
	if want := "topology.kubernetes.io/zone In [everywhere]"; labels.String() != want {
		t.Errorf("got %q, want %q", labels, want)
	}
}

func TestRequirementEntriesSurviveTheRoundTrip(t *testing.T) {
	three := 3
	many := cloud.In("node.kubernetes.io/instance-type", "a", "b", "c")
	many.MinValues = &three
	want := []v1.NodeSelectorRequirementWithMinValues{
		entry("cores", "Gte", "2"),
		entry("cores", "Lte", "8"),
		entry("gpu", corev1.NodeSelectorOpDoesNotExist),
		many,
		entry("size", corev1.NodeSelectorOpExists),
		entry("team", corev1.NodeSelectorOpNotIn, "x"),
	}
	rules := v1.CoreLabelRules()
	if d := cmp.Diff(want, cloud.RequirementEntries(cloud.Requirements(want, rules))); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
