package v1_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

func TestNormalize(t *testing.T) {
	rules := v1.CoreLabelRules()
	for key, want := range map[string]string{
		"failure-domain.beta.kubernetes.io/zone":   "topology.kubernetes.io/zone",
		"failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
		"beta.kubernetes.io/arch":                  "kubernetes.io/arch",
		"beta.kubernetes.io/os":                    "kubernetes.io/os",
		"beta.kubernetes.io/instance-type":         "node.kubernetes.io/instance-type",
		"topology.kubernetes.io/zone":              "topology.kubernetes.io/zone",
		"team":                                     "team",
	} {
		if got := rules.Normalize(key); got != want {
			t.Errorf("Normalize(%q) = %q, want %q", key, got, want)
		}
	}
	rules.ValueAliases = map[string]map[string]string{"zone": {"none": "all"}}
	for _, test := range [][3]string{{"zone", "none", "all"}, {"zone", "a", "a"}, {"other", "none", "none"}} {
		if got := rules.NormalizeValue(test[0], test[1]); got != test[2] {
			t.Errorf("NormalizeValue(%q, %q) = %q, want %q", test[0], test[1], got, test[2])
		}
	}
}

// TestWellKnown pins the labels that are well known without a cloud.
func TestWellKnown(t *testing.T) {
	want := map[string]bool{
		"karpenter.sh/nodepool": true, "karpenter.sh/capacity-type": true,
		"topology.kubernetes.io/zone": true, "topology.kubernetes.io/region": true,
		"node.kubernetes.io/instance-type": true, "node.kubernetes.io/windows-build": true,
		"kubernetes.io/arch": true, "kubernetes.io/os": true,
	}
	if diff := cmp.Diff(want, v1.CoreLabelRules().WellKnown); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestWithCopies checks that a cloud's additions stay its own.
func TestWithCopies(t *testing.T) {
	core := v1.CoreLabelRules()
	first := core.With([]string{"a.example/x"}, []string{"a.example"})
	second := core.With([]string{"b.example/x"}, []string{"b.example"})
	if diff := cmp.Diff(v1.CoreLabelRules(), core); diff != "" {
		t.Errorf("the rules that were added to changed (-want +got)\n%s", diff)
	}
	for key, want := range map[string][2]bool{
		"a.example/x": {false, false},
		"a.example/y": {true, false},
		"b.example/x": {false, false},
		"b.example/y": {false, true},
	} {
		if got := [2]bool{first.Restricted(key), second.Restricted(key)}; got != want {
			t.Errorf("%s: restricted %v, want %v", key, got, want)
		}
	}
}

// TestNames pins names that are stored in clusters.
func TestNames(t *testing.T) {
	if got := v1.NodeClassLabelKey("karpenter.kwok.sh", "KWOKNodeClass"); got != "karpenter.kwok.sh/kwoknodeclass" {
		t.Errorf("node class label %q", got)
	}
	want := []corev1.Taint{
		{Key: "karpenter.sh/disrupted", Effect: "NoSchedule"},
		{Key: "karpenter.sh/unregistered", Effect: "NoExecute"},
	}
	if diff := cmp.Diff(want, []corev1.Taint{v1.DisruptedNoScheduleTaint(), v1.UnregisteredNoExecuteTaint()}); diff != "" {
		t.Errorf("taints (-want +got)\n%s", diff)
	}
}
