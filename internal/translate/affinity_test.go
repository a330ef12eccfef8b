package translate_test

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

const nodeName = metav1.ObjectNameField

// requiring is an edit that sets the terms of required node affinity.
func requiring(terms ...corev1.NodeSelectorTerm) func(*corev1.PodSpec) {
	return func(spec *corev1.PodSpec) {
		spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms},
		}}
	}
}

// zoned is a node of a zone.
func zoned(name, zone string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelTopologyZone: zone}}}
}

// meets reports whether a node meets some alternative of a shape.
func meets(s *model.Shape, node requirement.Set) bool {
	for i := range s.Alternatives() {
		if node.Compatible(s.Strict(i), requirement.Strict) {
			return true
		}
	}
	return false
}

// TestMatchFields compares required terms with kube-scheduler on existing nodes, and says which of them new nodes can meet.
func TestMatchFields(t *testing.T) {
	in := func(name string) corev1.NodeSelectorRequirement { return on(nodeName, corev1.NodeSelectorOpIn, name) }
	notIn := func(name string) corev1.NodeSelectorRequirement {
		return on(nodeName, corev1.NodeSelectorOpNotIn, name)
	}
	inZone := func(zone string, list ...corev1.NodeSelectorRequirement) corev1.NodeSelectorTerm {
		term := fields(list...)
		term.MatchExpressions = []corev1.NodeSelectorRequirement{on(corev1.LabelTopologyZone, corev1.NodeSelectorOpIn, zone)}
		return term
	}
	for name, c := range map[string]struct {
		terms []corev1.NodeSelectorTerm
		// fresh is set if a new node of zone-a meets some term.
		fresh bool
	}{
		"a name":                            {[]corev1.NodeSelectorTerm{fields(in("a-1"))}, false},
		"no node but one":                   {[]corev1.NodeSelectorTerm{fields(notIn("a-1"))}, true},
		"no node but two":                   {[]corev1.NodeSelectorTerm{fields(notIn("a-1"), notIn("b-1"))}, true},
		"a name or another":                 {[]corev1.NodeSelectorTerm{fields(in("a-1")), fields(in("b-1"))}, false},
		"a name and another":                {[]corev1.NodeSelectorTerm{fields(in("a-1"), in("b-1"))}, false},
		"a name and not that name":          {[]corev1.NodeSelectorTerm{fields(in("a-1"), notIn("a-1"))}, false},
		"a name or a zone":                  {[]corev1.NodeSelectorTerm{fields(in("b-1")), inZone("zone-a")}, true},
		"a zone or a name":                  {[]corev1.NodeSelectorTerm{inZone("zone-a"), fields(in("b-1"))}, true},
		"another zone or a name":            {[]corev1.NodeSelectorTerm{inZone("zone-b"), fields(in("a-1"))}, false},
		"a name and its zone":               {[]corev1.NodeSelectorTerm{inZone("zone-a", in("a-1"))}, false},
		"a name and another zone":           {[]corev1.NodeSelectorTerm{inZone("zone-b", in("a-1"))}, false},
		"a zone without one of its nodes":   {[]corev1.NodeSelectorTerm{inZone("zone-a", notIn("a-1"))}, true},
		"a name that a label has":           {[]corev1.NodeSelectorTerm{fields(in("labelled"))}, false},
		"an empty term and no node but one": {[]corev1.NodeSelectorTerm{{}, fields(notIn("b-1"))}, true},
	} {
		t.Run(name, func(t *testing.T) {
			tr := translate.New(v1.CoreLabelRules())
			pod := unscheduled(requiring(c.terms...))
			p := tr.Pod(pod)
			if p.Rejected != "" {
				t.Fatalf("the pod is rejected: %s", p.Rejected)
			}
			affinity := nodeaffinity.GetRequiredNodeAffinity(pod)
			labelled := zoned("c-1", "zone-c")
			labelled.Labels[nodeName] = "labelled"
			for _, node := range []*corev1.Node{zoned("a-1", "zone-a"), zoned("a-2", "zone-a"), zoned("b-1", "zone-b"), labelled} {
				want, err := affinity.Match(node)
				if err != nil {
					t.Fatal(err)
				}
				if got := meets(p.Shape, tr.Node(node.Name, node, nil).Requirements); got != want {
					t.Errorf("node %s: got %v, kube-scheduler has %v", node.Name, got, want)
				}
			}
			fresh := requirement.Labels(map[string]string{corev1.LabelTopologyZone: "zone-a"})
			if got := meets(p.Shape, fresh); got != c.fresh {
				t.Errorf("a new node meets the terms: %v, want %v", got, c.fresh)
			}
			if got := fresh.Compatible(p.Shape.Strict(p.Shape.Alternatives()-1), requirement.Strict); got != c.fresh {
				t.Errorf("a new node meets the last alternative, which reasons are about: %v, want %v", got, c.fresh)
			}
		})
	}
}

// TestNodeClaimsHaveNoNodeName checks that only a Node object has a name, whatever its NodeClaim is called.
func TestNodeClaimsHaveNoNodeName(t *testing.T) {
	claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Status: v1.NodeClaimStatus{ProviderID: "kwok://n"}}
	node := zoned("n", "zone-a")
	for name, c := range map[string]struct {
		node *corev1.Node
		want bool
	}{"without a node": {nil, false}, "with a node that is not registered": {node, true}} {
		have := translate.New(v1.CoreLabelRules()).Node("kwok://n", c.node, claim).Requirements
		if got := have.Get(requirement.NodeName).Operator() == requirement.In; got != c.want {
			t.Errorf("%s: the name is known: %v, want %v", name, got, c.want)
		}
	}
}

// TestInvalidMatchFields checks that pods of files with fields that the API server refuses are rejected with the reason.
func TestInvalidMatchFields(t *testing.T) {
	many := make([]corev1.NodeSelectorRequirement, translate.MaxValues+1)
	for i := range many {
		many[i] = on(nodeName, corev1.NodeSelectorOpNotIn, fmt.Sprint(i))
	}
	for name, c := range map[string]struct {
		term corev1.NodeSelectorTerm
		want string
	}{
		"another field":    {fields(on("metadata.namespace", corev1.NodeSelectorOpIn, "n")), `matchFields has field "metadata.namespace", only metadata.name is supported`},
		"another operator": {fields(on(nodeName, corev1.NodeSelectorOpExists)), `matchFields has operator "Exists" with 0 values`},
		"two values":       {fields(on(nodeName, corev1.NodeSelectorOpNotIn, "a", "b")), `matchFields has operator "NotIn" with 2 values`},
		"too many":         {fields(many...), "the pod has 2001 fields in a term of required node affinity, at most 2000 are supported"},
	} {
		if got := translate.New(v1.CoreLabelRules()).Pod(unscheduled(requiring(c.term))).Rejected; !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: rejected with %q, want %q", name, got, c.want)
		}
	}
}

// TestDaemonSetPodsShareAShape checks that the name of the node, which the DaemonSet controller writes into each pod, restricts neither the pods
// nor what is expected on new nodes, and that names in the template do.
func TestDaemonSetPodsShareAShape(t *testing.T) {
	tr := translate.New(v1.CoreLabelRules())
	on1 := func(node string, daemon bool) *corev1.Pod {
		pod := unscheduled(requiring(fields(on(nodeName, corev1.NodeSelectorOpIn, node))))
		pod.Spec.NodeName, pod.Status = node, corev1.PodStatus{}
		if daemon {
			pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "agent"}}
		}
		return pod
	}
	first, second := tr.Pod(on1("node-1", true)), tr.Pod(on1("node-2", true))
	if first.Shape != second.Shape {
		t.Error("pods of a DaemonSet on different nodes have different shapes")
	}
	if other := tr.Pod(on1("node-1", false)); other.Shape == first.Shape || !other.Shape.Required[0].Has(requirement.NodeName) {
		t.Error("the name of the node of another pod is ignored")
	}
	fresh := requirement.Labels(map[string]string{corev1.LabelTopologyZone: "zone-a"})
	set := &appsv1.DaemonSet{}
	if s := tr.DaemonSet(set, on1("node-1", true)).Shape; !meets(s, fresh) {
		t.Error("the name in a live pod keeps the DaemonSet off new nodes")
	}
	set.Spec.Template.Spec.Affinity = on1("node-3", false).Spec.Affinity
	for name, newest := range map[string]*corev1.Pod{"without a pod": nil, "with a pod": on1("node-3", true)} {
		s := tr.DaemonSet(set, newest).Shape
		if meets(s, fresh) || !meets(s, tr.Node("node-3", zoned("node-3", "zone-a"), nil).Requirements) {
			t.Errorf("%s: the name in the template of the DaemonSet does not decide where its pods run", name)
		}
	}
}
