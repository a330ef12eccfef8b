package v1_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// long is one character longer than a label value or the name of a label may be.
var long = strings.Repeat("a", 64)

// requirement is a requirement without minValues.
func requirement(key, operator string, values ...string) v1.NodeSelectorRequirementWithMinValues {
	return v1.NodeSelectorRequirementWithMinValues{Key: key, Operator: corev1.NodeSelectorOperator(operator), Values: values}
}

// atLeast adds minValues.
func atLeast(n int, r v1.NodeSelectorRequirementWithMinValues) v1.NodeSelectorRequirementWithMinValues {
	r.MinValues = &n
	return r
}

func TestValidateRequirement(t *testing.T) {
	t.Attr("covers", "L022 L023 L024 L027 L028")
	core := v1.CoreLabelRules()
	kwok := core.With([]string{"karpenter.kwok.sh/instance-cpu"}, []string{"karpenter.kwok.sh"})
	for _, test := range []struct {
		name        string
		rules       v1.LabelRules
		requirement v1.NodeSelectorRequirementWithMinValues
		// want is part of the error; none if it is empty.
		want string
	}{
		{"In", core, requirement("a", "In", "x"), ""},
		{"NotIn without values", core, requirement("a", "NotIn"), ""},
		{"Exists", core, requirement("a", "Exists"), ""},
		{"DoesNotExist with values", core, requirement("a", "DoesNotExist", "x"), ""},
		{"unknown operator", core, requirement("a", "Equals", "x"), `operator "Equals"`},
		{"no operator", core, requirement("a", ""), `operator ""`},

		{"domain of Karpenter", core, requirement("karpenter.sh/foo", "Exists"), `domain "karpenter.sh" is restricted`},
		{"subdomain of Karpenter", core, requirement("x.karpenter.sh/foo", "Exists"), `domain "x.karpenter.sh" is restricted`},
		{"the dot counts", core, requirement("xkarpenter.sh/foo", "Exists"), ""},
		{"no slash, no domain", core, requirement("karpenter.sh", "Exists"), ""},
		{"well known in a closed domain", core, requirement(v1.CapacityTypeLabelKey, "Exists"), ""},
		{"the pool, which only pools may not require", core, requirement(v1.NodePoolLabelKey, "In", "default"), ""},
		{"internal labels", core, requirement(v1.NodeInitializedLabelKey, "Exists"), "is restricted"},
		{"host name", core, requirement("kubernetes.io/hostname", "Exists"), "the label is restricted"},
		{"other labels of Kubernetes", core, requirement("node-restriction.kubernetes.io/x", "Exists"), ""},
		{"domain of a cloud, unknown", core, requirement("karpenter.kwok.sh/foo", "Exists"), ""},
		{"domain of a cloud", kwok, requirement("karpenter.kwok.sh/foo", "Exists"), "is restricted"},
		{"node class label of a cloud", kwok, requirement("karpenter.kwok.sh/kwoknodeclass", "Exists"), "is restricted"},
		{"well known by a cloud", kwok, requirement("karpenter.kwok.sh/instance-cpu", "Exists"), ""},

		{"key with a space", core, requirement("bad key", "Exists"), "not a qualified name"},
		{"key without a name", core, requirement("example.com/", "Exists"), "not a qualified name"},
		{"no key", core, requirement("", "Exists"), "not a qualified name"},
		{"name of a key too long", core, requirement("example.com/"+long, "Exists"), "not a qualified name"},
		{"old name", core, requirement("beta.kubernetes.io/arch", "In", "amd64"), ""},

		{"bad value", core, requirement("a", "In", "bad value!"), `value "bad value!" is not a label value`},
		{"value too long", core, requirement("a", "NotIn", long), "is not a label value"},
		{"empty value", core, requirement("a", "In", ""), ""},

		{"In without values", core, requirement("a", "In"), "at least one value"},
		{"In with too few values", core, atLeast(2, requirement("a", "In", "x")), "fewer than minValues 2"},
		{"In with the same value twice", core, atLeast(2, requirement("a", "In", "x", "x")), ""},
		{"Exists with minValues", core, atLeast(50, requirement("a", "Exists")), ""},

		{"only unknown capacity types", core, requirement(v1.CapacityTypeLabelKey, "In", "sport"), "none of the values"},
		{"some unknown capacity types", core, requirement(v1.CapacityTypeLabelKey, "In", "sport", "spot"), ""},
		{"too few known capacity types", core, atLeast(2, requirement(v1.CapacityTypeLabelKey, "In", "sport", "spot")), "only 1 of the values"},
		{"enough known capacity types", core, atLeast(2, requirement(v1.CapacityTypeLabelKey, "In", "sport", "spot", "reserved")), ""},
		{"unknown capacity types ruled out", core, requirement(v1.CapacityTypeLabelKey, "NotIn", "sport"), ""},

		{"bound", core, requirement("a", "Gt", "0"), ""},
		{"Gte", core, requirement("a", "Gte", "5"), ""},
		{"Lte", core, requirement("a", "Lte", "5"), ""},
		{"bound without a value", core, requirement("a", "Lt"), "exactly one value"},
		{"bound with two values", core, requirement("a", "Gt", "1", "2"), "exactly one value"},
		{"negative bound", core, requirement("a", "Gte", "-1"), "exactly one value"},
		{"fractional bound", core, requirement("a", "Lte", "1.5"), "exactly one value"},
		{"bound that is no number", core, requirement("a", "Gt", "abc"), "exactly one value"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := v1.ValidateRequirement(test.requirement, test.rules)
			if test.want == "" && err != nil {
				t.Errorf("rejected: %v", err)
			}
			if test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

func TestUnknownValues(t *testing.T) {
	rules := v1.CoreLabelRules()
	mixed := requirement(v1.CapacityTypeLabelKey, "In", "spot", "sport", "on-demand")
	if diff := cmp.Diff([]string{"sport"}, rules.UnknownValues(mixed)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, fine := range []v1.NodeSelectorRequirementWithMinValues{
		requirement(v1.CapacityTypeLabelKey, "NotIn", "sport"),
		requirement("a", "In", "sport"),
	} {
		if got := rules.UnknownValues(fine); got != nil {
			t.Errorf("%v: %v", fine, got)
		}
	}
}

func TestRuntimeValidate(t *testing.T) {
	taint := func(key, value, effect string) corev1.Taint {
		return corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)}
	}
	labels := func(key, value string) v1.NodeClaimTemplate {
		return v1.NodeClaimTemplate{ObjectMeta: v1.ObjectMeta{Labels: map[string]string{key: value}}}
	}
	taints := func(taints, startupTaints []corev1.Taint) v1.NodeClaimTemplate {
		return v1.NodeClaimTemplate{Spec: v1.NodeClaimTemplateSpec{Taints: taints, StartupTaints: startupTaints}}
	}
	requires := func(requirements ...v1.NodeSelectorRequirementWithMinValues) v1.NodeClaimTemplate {
		return v1.NodeClaimTemplate{Spec: v1.NodeClaimTemplateSpec{Requirements: requirements}}
	}
	for _, test := range []struct {
		name     string
		template v1.NodeClaimTemplate
		// want are parts of the error, one for each message in it; no error if there are none.
		want []string
	}{
		{"nothing", v1.NodeClaimTemplate{}, nil},
		{"label", labels("example.com/team", "a"), nil},
		{"label without a value", labels("a", ""), nil},
		{"well-known label", labels(v1.CapacityTypeLabelKey, "spot"), nil},
		{"pool label", labels(v1.NodePoolLabelKey, "x"), []string{`labels["karpenter.sh/nodepool"]: the label is set by Karpenter`}},
		{"bad label key", labels("bad key!", "x"), []string{`labels["bad key!"]: not a qualified name`}},
		{"bad label value", labels("a", "bad value!"), []string{`labels["a"]: value "bad value!"`}},
		{"closed label domain", labels("karpenter.sh/foo", "x"), []string{`domain "karpenter.sh" is restricted`}},
		{"host name label", labels("kubernetes.io/hostname", "x"), []string{"the label is restricted"}},

		{"taints", taints([]corev1.Taint{taint("a", "", "NoSchedule"), taint("a", "", "NoExecute")}, []corev1.Taint{taint("b", "x.y/z", "")}), nil},
		{"taint without a key", taints([]corev1.Taint{taint("", "", "NoSchedule")}, nil), []string{"taints[0]: key", "taints[0]: key"}},
		{"bad taint key", taints(nil, []corev1.Taint{taint("bad key", "", "NoSchedule")}), []string{`startupTaints[0]: key "bad key"`}},
		{"bad taint value", taints([]corev1.Taint{taint("a", "bad value", "NoSchedule")}, nil), []string{`taints[0]: value "bad value"`}},
		{"bad taint effect", taints([]corev1.Taint{taint("a", "", "NoRun")}, nil), []string{`taints[0]: effect "NoRun"`}},
		{"taint twice", taints([]corev1.Taint{taint("a", "x", "NoSchedule"), taint("a", "y", "NoSchedule")}, nil), []string{`taints[1]: key "a" with effect "NoSchedule" appears twice`}},
		{"taint in both lists", taints([]corev1.Taint{taint("a", "", "NoSchedule")}, []corev1.Taint{taint("a", "", "NoSchedule")}), []string{`startupTaints[0]: key "a" with effect "NoSchedule" appears twice`}},

		{"requirement", requires(requirement("a", "In", "x")), nil},
		{"bad requirement", requires(requirement("a", "In", "x"), requirement("b", "In")), []string{`requirements[1]: key "b": operator In needs at least one value`}},
		{"pool requirement", requires(requirement(v1.NodePoolLabelKey, "Exists")), []string{`requirements[0]: key "karpenter.sh/nodepool" is set by Karpenter`}},
		{"everything at once", v1.NodeClaimTemplate{
			ObjectMeta: v1.ObjectMeta{Labels: map[string]string{"karpenter.sh/foo": "x"}},
			Spec: v1.NodeClaimTemplateSpec{
				Taints:       []corev1.Taint{taint("a", "", "NoRun")},
				Requirements: []v1.NodeSelectorRequirementWithMinValues{requirement("karpenter.sh/foo", "In")},
			},
		}, []string{"labels", "taints[0]", "at least one value", "is restricted"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			pool := &v1.NodePool{}
			pool.Spec.Template = test.template
			err := pool.RuntimeValidate(v1.CoreLabelRules())
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
