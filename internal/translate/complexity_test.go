package translate_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

// unscheduled is a pending pod that kube-scheduler marked unschedulable.
func unscheduled(change func(*corev1.PodSpec)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: "p", Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}},
		Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		}}},
	}
	change(&pod.Spec)
	return pod
}

func nodeTerm(list ...corev1.NodeSelectorRequirement) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: list}
}

func on(key string, op corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorRequirement {
	return corev1.NodeSelectorRequirement{Key: key, Operator: op, Values: values}
}

// preferring makes a pod prefer nodes by terms, the first one most.
func preferring(terms ...corev1.NodeSelectorTerm) func(*corev1.PodSpec) {
	return func(spec *corev1.PodSpec) {
		affinity := &corev1.NodeAffinity{}
		for i, term := range terms {
			affinity.PreferredDuringSchedulingIgnoredDuringExecution = append(affinity.PreferredDuringSchedulingIgnoredDuringExecution,
				corev1.PreferredSchedulingTerm{Weight: int32(max(100-i, 1)), Preference: term})
		}
		spec.Affinity = &corev1.Affinity{NodeAffinity: affinity}
	}
}

// fields is a term that selects nodes by their fields.
func fields(list ...corev1.NodeSelectorRequirement) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchFields: list}
}

func TestInvalidPreferencesAreIgnoredAndReported(t *testing.T) {
	valid := nodeTerm(on(corev1.LabelTopologyZone, corev1.NodeSelectorOpIn, "zone-a"))
	var many []corev1.NodeSelectorRequirement
	for i := range translate.MaxLabelKeys + 1 {
		many = append(many, on(fmt.Sprintf("example.com/key-%d", i), corev1.NodeSelectorOpNotIn, "v"))
	}
	for name, c := range map[string]struct {
		term corev1.NodeSelectorTerm
		want string
	}{
		"a negative bound":     {nodeTerm(on("example.com/cpu", corev1.NodeSelectorOpGt, "-2")), "an integer that is not negative"},
		"no label value":       {nodeTerm(on("example.com/free", corev1.NodeSelectorOpIn, "not a label value!")), "is not a label value"},
		"no label":             {nodeTerm(on("no label", corev1.NodeSelectorOpExists)), "is not a qualified name"},
		"a restricted label":   {nodeTerm(on("karpenter.sh/other", corev1.NodeSelectorOpNotIn, "v")), "is restricted"},
		"an unknown operator":  {nodeTerm(on("example.com/free", "Near", "v")), `operator "Near"`},
		"no such value":        {nodeTerm(on(v1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, "cheap")), "none of the values"},
		"an unknown field":     {fields(on("metadata.namespace", corev1.NodeSelectorOpIn, "n")), `field "metadata.namespace"`},
		"two names":            {fields(on("metadata.name", corev1.NodeSelectorOpIn, "n", "o")), "with 2 values"},
		"too many fields":      {fields(slices.Repeat([]corev1.NodeSelectorRequirement{on("metadata.name", corev1.NodeSelectorOpNotIn, "n")}, translate.MaxValues+1)...), "2001 fields"},
		"a name as a field":    {fields(on("metadata.name", corev1.NodeSelectorOpIn, "n")), ""},
		"too many expressions": {nodeTerm(many...), "61 expressions"},
		"too many values": {
			nodeTerm(on("example.com/free", corev1.NodeSelectorOpNotIn, strings.Split(strings.Repeat("v,", translate.MaxValues), ",")...)),
			"at most 2000",
		},
		"the name of a node, which existing nodes may have": {nodeTerm(on(corev1.LabelHostname, corev1.NodeSelectorOpIn, "node-1")), ""},
		"an empty term, which kube-scheduler ignores":       {corev1.NodeSelectorTerm{}, ""},
	} {
		tr := translate.New(v1.CoreLabelRules())
		p := tr.Pod(unscheduled(preferring(c.term, valid)))
		if p.Rejected != "" {
			t.Errorf("%s: the pod is rejected: %s", name, p.Rejected)
		}
		last := p.Shape.Preferred[len(p.Shape.Preferred)-1]
		if !last.Terms.Has(corev1.LabelTopologyZone) {
			t.Errorf("%s: the valid preference is gone", name)
		}
		switch {
		case c.want == "" && p.IgnoredPreferences != "":
			t.Errorf("%s: reported as %q", name, p.IgnoredPreferences)
		case c.want != "" && (len(p.Shape.Preferred) != 1 || !strings.Contains(p.IgnoredPreferences, c.want)):
			t.Errorf("%s: %d preferences, %q, want one and %q", name, len(p.Shape.Preferred), p.IgnoredPreferences, c.want)
		}
		if again := tr.Pod(unscheduled(preferring(c.term, valid))); again.IgnoredPreferences != p.IgnoredPreferences || again.Shape != p.Shape {
			t.Errorf("%s: a second pod with the same spec differs", name)
		}
	}
}

func TestPreferencesAreBounded(t *testing.T) {
	pod := unscheduled(func(spec *corev1.PodSpec) {
		var terms []corev1.NodeSelectorTerm
		for i := range 20 {
			terms = append(terms, nodeTerm(on(fmt.Sprintf("example.com/key-%d", i), corev1.NodeSelectorOpExists)))
		}
		preferring(terms...)(spec)
		for i := range 4000 {
			when := corev1.ScheduleAnyway
			if i == 3999 {
				when = corev1.DoNotSchedule
			}
			spec.TopologySpreadConstraints = append(spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
				MaxSkew: 1, TopologyKey: fmt.Sprintf("k%d", i), WhenUnsatisfiable: when,
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
			})
		}
	})
	p := translate.New(v1.CoreLabelRules()).Pod(pod)
	if p.Rejected != "" || p.Shape.SoftConstraints() != translate.MaxPreferences || len(p.Shape.Preferred) != 20 {
		t.Errorf("rejected %q, %d soft constraints, %d of them preferred node affinity", p.Rejected, p.Shape.SoftConstraints(), len(p.Shape.Preferred))
	}
	if n := len(p.Shape.Spreads); n != 31 || p.Shape.Spreads[30].Soft {
		t.Errorf("%d spread constraints, want the first 30 soft ones and the required one", n)
	}
	if !strings.Contains(p.IgnoredPreferences, "4019 preferences and soft constraints, at most 50") {
		t.Errorf("reported %q", p.IgnoredPreferences)
	}
}

func TestPodsBeyondABudgetAreRejected(t *testing.T) {
	requiring := func(terms ...corev1.NodeSelectorTerm) func(*corev1.PodSpec) {
		return func(spec *corev1.PodSpec) {
			spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms},
			}}
		}
	}
	repeated := func(n int) (out []corev1.NodeSelectorTerm) {
		for i := range n {
			out = append(out, nodeTerm(on("example.com/key", corev1.NodeSelectorOpIn, fmt.Sprint(i))))
		}
		return out
	}
	keys := func(n int) (out []corev1.NodeSelectorRequirement) {
		for i := range n {
			out = append(out, on(fmt.Sprintf("example.com/key-%d", i), corev1.NodeSelectorOpNotIn, "v"))
		}
		return out
	}
	values := func(n int) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprint(i))
		}
		return out
	}
	for name, c := range map[string]struct {
		most   int
		change func(n int) func(*corev1.PodSpec)
	}{
		"alternatives": {translate.MaxAlternatives, func(n int) func(*corev1.PodSpec) { return requiring(repeated(n)...) }},
		"labels":       {translate.MaxLabelKeys, func(n int) func(*corev1.PodSpec) { return requiring(nodeTerm(keys(n)...)) }},
		"values": {translate.MaxValues, func(n int) func(*corev1.PodSpec) {
			return requiring(nodeTerm(on("example.com/key", corev1.NodeSelectorOpIn, values(n)...)))
		}},
		"tolerations": {translate.MaxTolerations, func(n int) func(*corev1.PodSpec) {
			return func(spec *corev1.PodSpec) { spec.Tolerations = make([]corev1.Toleration, n) }
		}},
		"containers": {translate.MaxContainers, func(n int) func(*corev1.PodSpec) {
			return func(spec *corev1.PodSpec) { spec.Containers = make([]corev1.Container, n) }
		}},
		"constraints on pods": {translate.MaxPodConstraints, func(n int) func(*corev1.PodSpec) {
			return func(spec *corev1.PodSpec) {
				spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution: make([]corev1.PodAffinityTerm, n),
				}}
			}
		}},
		"bytes": {translate.MaxSpecBytes - 200, func(n int) func(*corev1.PodSpec) {
			return func(spec *corev1.PodSpec) { spec.Tolerations = []corev1.Toleration{{Key: strings.Repeat("k", n)}} }
		}},
	} {
		tr := translate.New(v1.CoreLabelRules())
		if p := tr.Pod(unscheduled(c.change(c.most))); p.Rejected != "" {
			t.Errorf("%s: a pod within the budget is rejected: %s", name, p.Rejected)
		}
		if p := tr.Pod(unscheduled(c.change(c.most + 201))); !strings.Contains(p.Rejected, "are supported") {
			t.Errorf("%s: a pod beyond the budget is not rejected: %q", name, p.Rejected)
		}
	}
}

// TestBudgetsHoldWithinAList: of pods with the same constraints that are read at once, those beyond a budget of the rest are rejected.
func TestBudgetsHoldWithinAList(t *testing.T) {
	with := func(containers int, key string) *corev1.Pod {
		return unscheduled(func(spec *corev1.PodSpec) {
			spec.NodeSelector = map[string]string{key: "v"}
			spec.Containers = make([]corev1.Container, containers)
		})
	}
	most := translate.MaxContainers
	pods := []*corev1.Pod{with(1, "example.com/key"), with(most+1, "example.com/key"), with(2, "example.com/key"), with(1, "a/b/c"), with(2, "a/b/c")}
	want := []string{"", "containers, at most", "", "a/b/c", "a/b/c"}
	for i, p := range translate.New(v1.CoreLabelRules()).Pods(pods) {
		if rejected := p.Rejected != ""; rejected != (want[i] != "") || !strings.Contains(p.Rejected, want[i]) {
			t.Errorf("pod %d is rejected with %q, want %q", i, p.Rejected, want[i])
		}
	}
}

// TestARestrictedLabelIsNotExcluded: the topology key of an anti-affinity term may be a label that the schema of NodeClaims refuses.
func TestARestrictedLabelIsNotExcluded(t *testing.T) {
	plan := solve.NodeClaim{Pool: "default", Requirements: requirement.NewSet(
		requirement.New("karpenter.sh/do-not-sync-taints", requirement.NotIn, "true"), requirement.New(corev1.LabelTopologyZone, requirement.NotIn, "zone-a"),
	)}
	claim := translate.New(v1.CoreLabelRules()).NodeClaim(&v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, plan, nil)
	if list := claim.Spec.Requirements; len(list) != 1 || list[0].Key != corev1.LabelTopologyZone {
		t.Errorf("requirements %v, want the zone only", list)
	}
}

// TestBudgetsAreDocumented checks that the page about limits has every budget.
func TestBudgetsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	for what, n := range map[string]int{
		"Preferences and soft spread constraints": translate.MaxPreferences, "Terms of required node affinity": translate.MaxAlternatives,
		"Required spread constraints and terms of required pod affinity and anti-affinity": translate.MaxPodConstraints,
		"Labels in the node selector, and in one term of node affinity":                    translate.MaxLabelKeys,
		"Values of one expression of node affinity":                                        translate.MaxValues,
		"`matchFields` in one term of node affinity":                                       translate.MaxValues,
		"Tolerations": translate.MaxTolerations, "Containers, init containers included": translate.MaxContainers,
	} {
		if row := fmt.Sprintf("| %s | %d |", what, n); !strings.Contains(string(page), row) {
			t.Errorf("docs/reference/limits.md lacks %q", row)
		}
	}
}
