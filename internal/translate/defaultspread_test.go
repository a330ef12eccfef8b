package translate_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

// TestDefaultSelectorsAreDeduced matches deduced selectors with pods. The pod that they are deduced for is labelled app=web and
// rev=1, tmp=x.
func TestDefaultSelectorsAreDeduced(t *testing.T) {
	t.Attr("covers", "L251 L252 L253 L255 N267")
	type labels = map[string]string
	replicaSet := func(s metav1.LabelSelector) *translate.Owner { return &translate.Owner{Selector: &s} }
	for _, c := range []struct {
		name     string
		services []labels
		owner    *translate.Owner
		none     bool   // no selector is deduced
		chosen   string // pods that count, as label lists
		others   string // pods that do not
	}{
		{name: "no Service or owner selects the pod", none: true},
		{
			name:  "the labels of the pod do not matter",
			owner: replicaSet(metav1.LabelSelector{MatchLabels: labels{"app": "web"}}), chosen: "app=web app=web,rev=2", others: "app=db rev=1",
		},
		{
			name: "expressions are kept",
			owner: replicaSet(metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{"web", "api"}}, {Key: "tmp", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"y"}},
			}}),
			chosen: "app=web app=api app=web,tmp=x", others: "app=db app=web,tmp=y",
		},
		{
			name: "a ReplicationController replaces labels of Services", services: []labels{{"app": "web", "rev": "1"}},
			owner: &translate.Owner{Labels: labels{"rev": "2"}}, chosen: "app=web,rev=2", others: "app=web,rev=1 rev=2",
		},
		{
			name: "a ReplicaSet has to be met as well", services: []labels{{"app": "web"}},
			owner: replicaSet(metav1.LabelSelector{MatchLabels: labels{"rev": "1"}}), chosen: "app=web,rev=1", others: "app=web rev=1",
		},
		{
			name: "and may contradict", services: []labels{{"app": "web"}},
			owner: replicaSet(metav1.LabelSelector{MatchLabels: labels{"app": "api"}}), others: "app=web app=api",
		},
		{name: "Services that choose the pod are merged", services: []labels{{"app": "web"}, {"rev": "1"}}, chosen: "app=web,rev=1", others: "app=web rev=1"},
		{name: "others are not", services: []labels{{"app": "web"}, {"rev": "2"}}, chosen: "app=web", others: "rev=1"},
		{name: "one without a selector chooses none", services: []labels{nil}, none: true},
		{name: "an empty selector says nothing", services: []labels{{}}, none: true},
		{name: "an owner that means all pods says nothing", owner: replicaSet(metav1.LabelSelector{}), none: true},
		{
			name: "an owner that is not valid says nothing", services: []labels{{"app": "web"}},
			owner:  replicaSet(metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Near"}}}),
			chosen: "app=web", others: "app=api",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			pods := &model.Labels{Namespace: "default", Values: labels{"app": "web", "rev": "1", "tmp": "x"}}
			got := translate.New(v1.CoreLabelRules()).DefaultSelector(pods, c.services, c.owner)
			if (got == nil) != c.none {
				t.Fatalf("deduced %v", got)
			}
			for text, want := range map[string]bool{c.chosen: true, c.others: false} {
				for _, pod := range strings.Fields(text) {
					values := labels{}
					for _, label := range strings.Split(pod, ",") {
						key, value, _ := strings.Cut(label, "=")
						values[key] = value
					}
					if got.Matches(values) != want {
						t.Errorf("pods labelled %s count: %v, want %v", pod, !want, want)
					}
				}
			}
		})
	}
}

func TestAReplicationControllerWithoutSelectorMeansItsTemplate(t *testing.T) {
	rc := &corev1.ReplicationController{Spec: corev1.ReplicationControllerSpec{Template: &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}}}}
	if got := translate.ReplicationController(rc).Labels["app"]; got != "web" {
		t.Errorf("it means app=%q", got)
	}
	rc.Spec.Selector = map[string]string{"app": "db"}
	if got := translate.ReplicationController(rc).Labels["app"]; got != "db" {
		t.Errorf("with a selector it means app=%q", got)
	}
}

func TestEachPodGetsSeparateConstraints(t *testing.T) {
	t.Attr("covers", "L259")
	translator := translate.New(v1.CoreLabelRules())
	one, other := translator.Pod(workloadPod(1, 1)), translator.Pod(workloadPod(2, 1))
	constraints := []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, MinDomains: ptr(int32(2)), WhenUnsatisfiable: corev1.DoNotSchedule}}
	selector := func(p *model.Pod) *model.Pod {
		return translator.Spread(p, constraints, translator.DefaultSelector(p.Labels, []map[string]string{{"app": p.Labels.Values["app"]}}, nil))
	}
	first, second := selector(one), selector(other)
	if len(one.Shape.Spreads) > 0 || len(other.Shape.Spreads) > 0 {
		t.Error("the pods handed in were changed")
	}
	for p, app := range map[*model.Pod]string{first: "app-001", second: "app-002"} {
		spread := p.Shape.Spreads[0]
		if !spread.Selector.Matches(map[string]string{"app": app}) || spread.Selector.Matches(map[string]string{"app": "another"}) || spread.Namespace != p.Namespace {
			t.Errorf("%s is spread by %+v", p.Name, spread)
		}
		if spread.MinDomains != 2 || spread.MaxSkew != 1 || spread.Soft {
			t.Errorf("%s: the constraint lost something: %+v", p.Name, spread)
		}
	}
	if first.Shape == second.Shape || first.Shape != selector(one).Shape {
		t.Error("pods share constraints if and only if they look alike")
	}
}
