package judge

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/test/scenario/scenariorun"
)

// oneReplacement is a cluster in which a large node with one small pod is replaced by a small one.
const oneReplacement = `
apiVersion: karpenter.kwok.sh/v1alpha1
kind: KWOKNodeClass
metadata: {name: default}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  disruption: {budgets: [{nodes: "100%"}]}
  template:
    spec:
      requirements:
      - {key: kubernetes.io/arch, operator: In, values: [amd64]}
      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: default}
spec:
  maxUnavailable: 1
  selector: {matchLabels: {app: web}}
---
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  nodeName: large
  containers:
  - {name: app, image: "registry.k8s.io/pause:3.10", resources: {requests: {cpu: 500m, memory: 64Mi}}}
`

// replaced has the engine decide about the cluster.
func replaced(t *testing.T) (*Judge, *question, []decision) {
	t.Helper()
	reader, c := scenariorun.Reader(t), scenariorun.Clouds(t)("")
	j, err := New(t.Context(), reader, c)
	if err != nil {
		t.Fatal(err)
	}
	p := Problem{Name: "one-replacement"}
	for _, text := range strings.Split(oneReplacement, "---\n") {
		var document map[string]any
		if err := yaml.Unmarshal([]byte(text), &document); err != nil {
			t.Fatal(err)
		}
		p.Documents = append(p.Documents, document)
	}
	p.Documents = append(p.Documents, NodeDocument("large", map[string]string{"type": "c-8x-amd64-linux", "quiet": "1h"}))
	objects, err := p.objects(reader, c)
	if err != nil {
		t.Fatal(err)
	}
	q, decisions, err := j.decide(p, withBudgetStatus(objects), 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(decisions) != 1 || len(decisions[0].claims) != 1 {
		t.Fatalf("the engine decides %v, want one replacement", decisions)
	}
	return j, q, decisions
}

// TestWrongCommandsAreFound changes what a command was decided for, so that it is wrong.
func TestWrongCommandsAreFound(t *testing.T) {
	budget := func(q *question) *policyv1.PodDisruptionBudget {
		i := slices.IndexFunc(q.objects, func(o client.Object) bool { _, ok := o.(*policyv1.PodDisruptionBudget); return ok })
		return q.objects[i].(*policyv1.PodDisruptionBudget) //nolint:forcetypeassert // as it was found
	}
	for name, test := range map[string]struct {
		change func(*question, []decision)
		want   Kind
	}{
		"right":                 {func(*question, []decision) {}, ""},
		"the node is protected": {func(q *question, _ []decision) { q.nodes[0].Annotations[v1.DoNotDisruptAnnotationKey] = "true" }, Protected},
		"the pod is protected": {func(q *question, _ []decision) {
			q.bound[0].Annotations = map[string]string{v1.DoNotDisruptAnnotationKey: "true"}
		}, Protected},
		"the PDB allows none": {func(q *question, _ []decision) { budget(q).Status.DisruptionsAllowed = 0 }, Protected},
		"a pod came": {func(q *question, _ []decision) {
			q.pools["default"].Spec.Disruption.ConsolidateAfter = v1.NewNillableDuration(2 * 60 * 60e9)
		}, Protected},
		"the policy forbids it": {func(q *question, _ []decision) {
			q.pools["default"].Spec.Disruption.ConsolidationPolicy = v1.ConsolidationPolicyWhenEmpty
		}, Protected},
		"the budget is zero": {func(q *question, _ []decision) {
			q.pools["default"].Spec.Disruption.Budgets = []v1.Budget{{Nodes: "0"}}
		}, OverBudget},
		"the savings are wrong": {func(_ *question, d []decision) { d[0].Replacements[0].Price *= 2 }, Overspent},
		"the launch may cost more": {func(q *question, _ []decision) {
			q.nodes[0].Labels[corev1.LabelInstanceTypeStable] = "c-1x-amd64-linux"
		}, Overspent},
		"the claim is invalid": {func(_ *question, d []decision) { d[0].claims[0].Labels["not a label"] = "x" }, Invalid},
		"the pod does not fit": {func(q *question, _ []decision) { q.bound[0].Spec.NodeSelector = map[string]string{"a": "b"} }, Unbound},
		"the pod has no place": {func(_ *question, d []decision) { d[0].Replacements[0].Pods = nil }, Forgotten},
	} {
		t.Run(name, func(t *testing.T) {
			j, q, decisions := replaced(t)
			test.change(q, decisions)
			failures := j.decision(q, nil, decisions[0])
			if len(failures) == 0 {
				if _, failure := j.moves(q, decisions); failure != nil {
					failures = append(failures, *failure)
				}
			}
			var kinds []Kind
			for _, f := range failures {
				kinds = append(kinds, f.Kind)
			}
			if test.want == "" && len(kinds) > 0 || test.want != "" && !slices.Contains(kinds, test.want) {
				t.Errorf("the failures are %v, want %q", failures, test.want)
			}
		})
	}
}

func TestBudgets(t *testing.T) {
	for _, test := range []struct {
		budgets []v1.Budget
		nodes   int
		want    int
	}{
		{[]v1.Budget{{Nodes: "10%"}}, 1, 1},
		{[]v1.Budget{{Nodes: "50%"}}, 3, 2},
		{[]v1.Budget{{Nodes: "3"}, {Nodes: "1", Reasons: []v1.DisruptionReason{v1.DisruptionReasonDrifted}}}, 9, 3},
		{[]v1.Budget{{Nodes: "3"}, {Nodes: "1", Reasons: []v1.DisruptionReason{v1.DisruptionReasonEmpty}}}, 9, 1},
	} {
		pool := &v1.NodePool{}
		pool.Spec.Disruption.Budgets = test.budgets
		if got := allowedFor(pool, string(v1.DisruptionReasonEmpty), test.nodes); got != test.want {
			t.Errorf("%v allow %d of %d nodes, want %d", test.budgets, got, test.nodes, test.want)
		}
	}
}

func TestPodDisruptionBudgets(t *testing.T) {
	value := func(text string) *intstr.IntOrString { v := intstr.Parse(text); return &v }
	for _, test := range []struct {
		least, away *intstr.IntOrString
		want        int32
	}{
		{least: value("2"), want: 2},
		{least: value("50%"), want: 3},
		{away: value("1"), want: 4},
		{away: value("50%"), want: 2},
		{away: value("9"), want: 0},
	} {
		b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
		b.Spec.MinAvailable, b.Spec.MaxUnavailable = test.least, test.away
		if got := wantedHealthy(b, 5); got != test.want {
			t.Errorf("%v: %d of 5 pods have to stay healthy, want %d", b.Spec, got, test.want)
		}
	}
}
