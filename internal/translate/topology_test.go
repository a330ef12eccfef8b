package translate_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/topology"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

// labelled is a selector of one label.
func labelled(key, value string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
}

func ptr[T any](v T) *T { return &v }

func spreading(c corev1.TopologySpreadConstraint) *corev1.Pod {
	pod := workloadPod(1, 1)
	pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{c}
	return pod
}

func TestSpreadConstraintsKeepTheirMeaning(t *testing.T) {
	ignore, honor := corev1.NodeInclusionPolicyIgnore, corev1.NodeInclusionPolicyHonor
	for _, c := range []struct {
		name string
		from corev1.TopologySpreadConstraint
		want topology.Spread
	}{
		{
			"defaults",
			corev1.TopologySpreadConstraint{MaxSkew: 2, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule},
			topology.Spread{Key: corev1.LabelTopologyZone, MaxSkew: 2},
		},
		{
			"a preference with every field set",
			corev1.TopologySpreadConstraint{
				MaxSkew: 1, TopologyKey: "rack", WhenUnsatisfiable: corev1.ScheduleAnyway, MinDomains: ptr(int32(3)),
				NodeAffinityPolicy: &ignore, NodeTaintsPolicy: &honor,
			},
			topology.Spread{Key: "rack", MaxSkew: 1, MinDomains: 3, Soft: true, AnyAffinity: true, HonorTaints: true},
		},
		{
			"the defaults said aloud",
			corev1.TopologySpreadConstraint{MaxSkew: 1, TopologyKey: "rack", NodeAffinityPolicy: &honor, NodeTaintsPolicy: &ignore},
			topology.Spread{Key: "rack", MaxSkew: 1},
		},
		{
			"an old name of the zone",
			corev1.TopologySpreadConstraint{MaxSkew: 1, TopologyKey: "failure-domain.beta.kubernetes.io/zone"},
			topology.Spread{Key: corev1.LabelTopologyZone, MaxSkew: 1},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := translate.New(v1.CoreLabelRules()).Pod(spreading(c.from)).Shape.Spreads
			c.want.Namespace = "team-1"
			if diff := cmp.Diff([]topology.Spread{c.want}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestSelectorsMatchAsInTheAPI matches translated selectors with pods.
func TestSelectorsMatchAsInTheAPI(t *testing.T) {
	expression := func(key string, op metav1.LabelSelectorOperator, values ...string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: op, Values: values}}}
	}
	both := labelled("app", "web")
	both.MatchExpressions = expression("app", metav1.LabelSelectorOpIn, "db").MatchExpressions
	const oldZone = "failure-domain.beta.kubernetes.io/zone"
	for _, c := range []struct {
		name     string
		selector *metav1.LabelSelector
		chosen   []string
	}{
		{"none", nil, nil},
		{"empty", &metav1.LabelSelector{}, []string{"", "app=db", "app=web", oldZone + "=a"}},
		{"a label", labelled("app", "web"), []string{"app=web"}},
		{"several values", expression("app", metav1.LabelSelectorOpIn, "web", "db"), []string{"app=db", "app=web"}},
		{"not", expression("app", metav1.LabelSelectorOpNotIn, "web"), []string{"", "app=db", oldZone + "=a"}},
		{"there", expression("app", metav1.LabelSelectorOpExists), []string{"app=db", "app=web"}},
		{"missing", expression("app", metav1.LabelSelectorOpDoesNotExist), []string{"", oldZone + "=a"}},
		{"a contradiction", both, nil},
		{"an unknown operator", expression("app", "Near", "web"), nil},
		{"not in nothing", expression("app", metav1.LabelSelectorOpNotIn), nil},
		{"a value where none belongs", expression("app", metav1.LabelSelectorOpDoesNotExist, "web"), nil},
		{"a name that is none", expression("no label!", metav1.LabelSelectorOpNotIn, "x"), nil},
		{"a pod label that reads like an old node label", labelled(oldZone, "a"), []string{oldZone + "=a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := spreading(corev1.TopologySpreadConstraint{MaxSkew: 1, TopologyKey: "rack", LabelSelector: c.selector})
			selector := translate.New(v1.CoreLabelRules()).Pod(pod).Shape.Spreads[0].Selector
			var chosen []string
			for _, text := range []string{"", "app=db", "app=web", oldZone + "=a"} {
				labels := map[string]string{}
				if key, value, ok := strings.Cut(text, "="); ok {
					labels[key] = value
				}
				if selector.Matches(labels) {
					chosen = append(chosen, text)
				}
			}
			if diff := cmp.Diff(c.chosen, chosen); diff != "" {
				t.Errorf("chosen (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMatchLabelKeysNarrowTheSelectorOnce(t *testing.T) {
	t.Attr("covers", "L239")
	translator := translate.New(v1.CoreLabelRules())
	constraint := corev1.TopologySpreadConstraint{
		MaxSkew: 1, TopologyKey: "rack", LabelSelector: labelled("tier", "web"), MatchLabelKeys: []string{"pod-template-hash", "not-there"},
	}
	pod := spreading(constraint)
	before := pod.DeepCopy()
	first := translator.Pod(pod)
	selector := first.Shape.Spreads[0].Selector
	if !selector.Matches(map[string]string{"tier": "web", "pod-template-hash": "5d4f8c7b9d"}) {
		t.Error("pods of the same revision should count")
	}
	if selector.Matches(map[string]string{"tier": "web", "pod-template-hash": "another"}) {
		t.Error("pods of another revision should not count")
	}
	// The API server may have added the same to the selector.
	merged := pod.DeepCopy()
	merged.Spec.TopologySpreadConstraints[0].LabelSelector.MatchExpressions = []metav1.LabelSelectorRequirement{
		{Key: "pod-template-hash", Operator: metav1.LabelSelectorOpIn, Values: []string{"5d4f8c7b9d"}},
	}
	for _, again := range []*corev1.Pod{pod, merged} {
		if translator.Pod(again).Shape != first.Shape {
			t.Error("the same pod got another shape")
		}
	}
	if diff := cmp.Diff(before, pod); diff != "" {
		t.Errorf("the pod was changed:\n%s", diff)
	}
}

func TestAffinityTermsComeHeaviestFirst(t *testing.T) {
	weighted := func(weight int32, key string) corev1.WeightedPodAffinityTerm {
		return corev1.WeightedPodAffinityTerm{Weight: weight, PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: key, LabelSelector: labelled("app", "db")}}
	}
	pod := workloadPod(1, 1)
	pod.Spec.Affinity = &corev1.Affinity{
		PodAffinity: &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution:  []corev1.PodAffinityTerm{{TopologyKey: "must"}},
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{weighted(1, "light"), weighted(0, "none"), weighted(50, "heavy")},
		},
		PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution:  []corev1.PodAffinityTerm{{TopologyKey: "never"}},
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{weighted(10, "far"), weighted(90, "farther"), weighted(10, "far too")},
		},
	}
	before := pod.DeepCopy()
	type term struct {
		key    string
		anti   bool
		weight int32
	}
	var got []term
	for _, a := range translate.New(v1.CoreLabelRules()).Pod(pod).Shape.Affinities {
		got = append(got, term{a.Key, a.Anti, a.Weight})
	}
	want := []term{
		{"must", false, 0},
		{"heavy", false, 50},
		{"light", false, 1},
		{"never", true, 0},
		{"farther", true, 90},
		{"far", true, 10},
		{"far too", true, 10},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(term{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, pod); diff != "" {
		t.Errorf("the pod was changed:\n%s", diff)
	}
}

func TestAffinityLooksIntoTheRightNamespaces(t *testing.T) {
	t.Attr("covers", "L276")
	for _, c := range []struct {
		name     string
		term     corev1.PodAffinityTerm
		want     []string
		selects  map[string]string // labels of a namespace that the selector should choose
		excludes map[string]string // and of one that it should not
	}{
		{name: "its own by default", want: []string{"team-1"}},
		{name: "a list", term: corev1.PodAffinityTerm{Namespaces: []string{"b", "a", "b"}}, want: []string{"a", "b"}},
		{name: "all", term: corev1.PodAffinityTerm{NamespaceSelector: &metav1.LabelSelector{}}, selects: map[string]string{}},
		{
			name:     "by label",
			term:     corev1.PodAffinityTerm{NamespaceSelector: labelled("env", "prod")},
			selects:  map[string]string{"env": "prod"},
			excludes: map[string]string{"env": "test"},
		},
		{
			name:     "by label and a list",
			term:     corev1.PodAffinityTerm{Namespaces: []string{"a"}, NamespaceSelector: labelled("env", "prod")},
			want:     []string{"a"},
			excludes: map[string]string{},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := workloadPod(1, 1)
			c.term.TopologyKey = corev1.LabelHostname
			pod.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{c.term}}}
			got := translate.New(v1.CoreLabelRules()).Pod(pod).Shape.Affinities[0]
			if diff := cmp.Diff(c.want, got.Namespaces); diff != "" {
				t.Errorf("namespaces (-want +got):\n%s", diff)
			}
			if c.selects != nil && !got.NamespaceSelector.Matches(c.selects) {
				t.Errorf("namespaces labelled %v should be chosen", c.selects)
			}
			if (c.selects == nil || c.excludes != nil) && got.NamespaceSelector.Matches(c.excludes) {
				t.Errorf("namespaces labelled %v should not be chosen", c.excludes)
			}
		})
	}
}

func TestAffinityMayCompareLabelsOfThePodItself(t *testing.T) {
	pod := workloadPod(1, 1)
	pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
		TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{}, MatchLabelKeys: []string{"tier", "not-there"}, MismatchLabelKeys: []string{"app"},
	}}}}
	selector := translate.New(v1.CoreLabelRules()).Pod(pod).Shape.Affinities[0].Selector
	for _, c := range []struct {
		labels map[string]string
		want   bool
	}{
		{map[string]string{"tier": "web", "app": "another"}, true},
		{map[string]string{"tier": "web"}, true},
		{map[string]string{"tier": "web", "app": "app-001"}, false},
		{map[string]string{"tier": "batch", "app": "another"}, false},
	} {
		if got := selector.Matches(c.labels); got != c.want {
			t.Errorf("pods labelled %v are chosen: %v, want %v", c.labels, got, c.want)
		}
	}
}

// TestPodsThatLookAlikeShareTheirShape checks that the shape differs exactly where scheduling does.
func TestPodsThatLookAlikeShareTheirShape(t *testing.T) {
	translator := translate.New(v1.CoreLabelRules())
	shape := func(edits ...func(*corev1.Pod)) *model.Shape {
		pod := workloadPod(1, 1)
		for _, edit := range edits {
			edit(pod)
		}
		return translator.Pod(pod).Shape
	}
	elsewhere := func(pod *corev1.Pod) { pod.Namespace = "another" }
	spread := func(c corev1.TopologySpreadConstraint) func(*corev1.Pod) {
		c.TopologyKey, c.LabelSelector = corev1.LabelTopologyZone, labelled("app", "app-001")
		return func(pod *corev1.Pod) { pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{c} }
	}
	plain := spread(corev1.TopologySpreadConstraint{MaxSkew: 1})
	near := func(weight int32, anti bool) func(*corev1.Pod) {
		term := corev1.PodAffinityTerm{TopologyKey: corev1.LabelTopologyZone, LabelSelector: labelled("app", "app-001"), Namespaces: []string{"a"}}
		return func(pod *corev1.Pod) {
			terms := []corev1.WeightedPodAffinityTerm{{Weight: weight, PodAffinityTerm: term}}
			pod.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: terms}}
			if anti {
				pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: terms}}
			}
		}
	}
	if shape() != shape(elsewhere) {
		t.Error("without topology the namespace should make no difference")
	}
	if shape(plain) == shape(plain, elsewhere) {
		t.Error("a spread is about pods of the namespace")
	}
	honor, ignore := corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore
	seen := map[*model.Shape]string{}
	for name, s := range map[string]*model.Shape{
		"plain":              shape(),
		"important":          shape(func(pod *corev1.Pod) { pod.Spec.Priority = ptr(int32(7)) }),
		"spread":             shape(plain),
		"spread wider":       shape(spread(corev1.TopologySpreadConstraint{MaxSkew: 2})),
		"spread over three":  shape(spread(corev1.TopologySpreadConstraint{MaxSkew: 1, MinDomains: ptr(int32(3))})),
		"spread softly":      shape(spread(corev1.TopologySpreadConstraint{MaxSkew: 1, WhenUnsatisfiable: corev1.ScheduleAnyway})),
		"spread over all":    shape(spread(corev1.TopologySpreadConstraint{MaxSkew: 1, NodeAffinityPolicy: &ignore})),
		"spread where borne": shape(spread(corev1.TopologySpreadConstraint{MaxSkew: 1, NodeTaintsPolicy: &honor})),
		"near":               shape(near(1, false)),
		"nearer":             shape(near(2, false)),
		"far":                shape(near(1, true)),
		"near the namespaces": shape(near(1, false), func(pod *corev1.Pod) {
			pod.Spec.Affinity.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0].PodAffinityTerm.NamespaceSelector = labelled("a", "b")
		}),
	} {
		if other, ok := seen[s]; ok {
			t.Errorf("%q and %q have one shape", name, other)
		}
		seen[s] = name
	}
}

func TestPodsOfANamespaceWithEqualLabelsShareThem(t *testing.T) {
	translator := translate.New(v1.CoreLabelRules())
	one, other := translator.Pod(workloadPod(1, 1)), translator.Pod(workloadPod(1, 2))
	if one.Labels != other.Labels {
		t.Error("two pods of a workload do not share their labels")
	}
	if diff := cmp.Diff(&model.Labels{Namespace: "team-1", Values: workloadPod(1, 1).Labels}, one.Labels); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	moved := workloadPod(1, 1)
	moved.Namespace = "another"
	if got := translator.Pod(moved).Labels; got == one.Labels || got.Namespace != "another" {
		t.Errorf("labels in another namespace: %+v", got)
	}
	relabelled := workloadPod(1, 1)
	kept := translator.Pod(relabelled).Labels
	relabelled.Labels["app"] = "changed"
	if kept.Values["app"] != "app-001" {
		t.Error("labels change with the object they came from")
	}
}

func TestPodsThatAreBeingDeletedSayOn(t *testing.T) {
	translator := translate.New(v1.CoreLabelRules())
	pod := workloadPod(1, 1)
	if translator.Pod(pod).Terminating {
		t.Error("a live pod is terminating")
	}
	now := metav1.NewTime(time.Unix(0, 0))
	pod.DeletionTimestamp = &now
	if !translator.Pod(pod).Terminating {
		t.Error("a pod that is being deleted is not terminating")
	}
}

// TestNodesListRequiredAntiAffinity checks that only required anti-affinity of pods on the node counts.
func TestNodesListRequiredAntiAffinity(t *testing.T) {
	translator := translate.New(v1.CoreLabelRules())
	term := corev1.PodAffinityTerm{TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{}}
	guard, preferred, friend := workloadPod(1, 1), workloadPod(2, 1), workloadPod(3, 1)
	guard.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term}}}
	preferred.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: term}},
	}}
	friend.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term}}}
	var n model.Node
	translate.AddPods(&n, []*model.Pod{translator.Pod(preferred), translator.Pod(guard), translator.Pod(friend)})
	if len(n.AntiAffinityPods) != 1 || n.AntiAffinityPods[0].Name != guard.Name {
		t.Errorf("guarded by %v, want %s alone", n.AntiAffinityPods, guard.Name)
	}
}

func TestNodesShowTheirTaintsAsTheyAre(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}, Spec: corev1.NodeSpec{Taints: []corev1.Taint{
		{Key: "node.kubernetes.io/not-ready", Effect: corev1.TaintEffectNoSchedule},
		{Key: "team", Value: "a", Effect: corev1.TaintEffectNoSchedule},
	}}}
	claim := &v1.NodeClaim{Status: v1.NodeClaimStatus{ProviderID: "test://1"}}
	translator := translate.New(v1.CoreLabelRules())
	n := translator.Node("test://1", node, claim)
	want := []model.Taint{{Key: "node.kubernetes.io/not-ready", Effect: model.NoSchedule}, {Key: "team", Value: "a", Effect: model.NoSchedule}}
	if diff := cmp.Diff(want, n.RawTaints); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := translator.Node("nodeclaim/a", nil, claim); n.RawTaints != nil {
		t.Errorf("a claim without a node has the taints %v", n.RawTaints)
	}
}
