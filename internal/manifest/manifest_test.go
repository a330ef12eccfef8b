package manifest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/autoscaling/v1beta1"
	kwokcrds "github.com/karpenter-anew/karpenter/api/kwok/crds"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/api/v1alpha1"
)

func newReader(t *testing.T) *Reader {
	t.Helper()
	definitions, err := kwokcrds.Definitions()
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(definitions)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const minimalPool = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      requirements: []
      nodeClassRef:
        group: karpenter.kwok.sh
        kind: KWOKNodeClass
        name: default
`

func TestOurKindsGetTheDefaultsOfTheirSchema(t *testing.T) {
	m, err := newReader(t).Read("pool.yaml", strings.NewReader(minimalPool))
	if err != nil {
		t.Fatal(err)
	}
	pool, ok := m.Objects[0].(*v1.NodePool)
	if !ok {
		t.Fatalf("got a %T", m.Objects[0])
	}
	if got := pool.Spec.Template.Spec.ExpireAfter.Duration.Hours(); got != 720 {
		t.Errorf("expireAfter is %v hours, want 720", got)
	}
	want := []v1.Budget{{Nodes: "10%"}}
	if diff := cmp.Diff(want, pool.Spec.Disruption.Budgets); diff != "" {
		t.Errorf("budgets (-want +got):\n%s", diff)
	}
	if pool.UID != "nodepool/default" || pool.Namespace != "" {
		t.Errorf("identity is %q in namespace %q", pool.UID, pool.Namespace)
	}
}

func TestOverlaysAndBuffersAreRead(t *testing.T) {
	const text = "apiVersion: autoscaling.x-k8s.io/v1beta1\nkind: CapacityBuffer\nmetadata: {name: spare}\nspec: {}\n" +
		"---\napiVersion: karpenter.sh/v1alpha1\nkind: NodeOverlay\nmetadata: {name: cheap}\nspec: {requirements: [], price: \"1.50\"}\n"
	m, err := newReader(t).Read("in.yaml", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	buffer, overlay := m.Objects[0].(*v1beta1.CapacityBuffer), m.Objects[1].(*v1alpha1.NodeOverlay)
	if got := buffer.Spec.ProvisioningStrategy; got == nil || *got != v1beta1.ActiveCapacity || buffer.Namespace != "default" {
		t.Errorf("the buffer is %+v", buffer)
	}
	if got := overlay.Spec.Price; got == nil || *got != "1.50" || overlay.Namespace != "" {
		t.Errorf("the overlay is %+v", overlay)
	}
	if _, err := newReader(t).Read("in.yaml", strings.NewReader(strings.Replace(text, `"1.50"`, `"-1"`, 1))); err == nil || !strings.Contains(err.Error(), "NodeOverlay cheap: spec.price") {
		t.Errorf("a negative price: %v", err)
	}
}

func TestErrorsSayFileLineDocumentAndField(t *testing.T) {
	r := newReader(t)
	for _, c := range []struct{ name, text, want string }{
		{
			"unknown field of a core kind",
			"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  contaners: []\n",
			"in.yaml:5 (document 1): Pod a: spec.contaners: unknown field",
		},
		{
			"unknown field of our kind in the second document",
			"---\n# only a comment\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\n---" + minimalPool + "      taint: []\n",
			"in.yaml:20 (document 2): NodePool default: spec.template.spec.taint: unknown field",
		},
		{
			"quantity",
			"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: c\n    resources:\n      requests:\n        cpu: lots\n",
			`in.yaml:9 (document 1): Pod a: spec.containers[0].resources.requests.cpu: "lots" is not a quantity such as 500m or 2Gi`,
		},
		{
			"type",
			"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  replicas: many\n",
			"in.yaml:5 (document 1): Deployment a: spec.replicas: is a string, want int32",
		},
		{
			"schema",
			strings.Replace(minimalPool, "requirements: []", "requirements:\n      - {key: a, operator: Is}", 1),
			`in.yaml:10 (document 1): NodePool default: spec.template.spec.requirements[0].operator: Unsupported value: "Is": supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte"`,
		},
		{
			"rule",
			strings.Replace(minimalPool, "requirements: []", "requirements:\n      - {key: kubernetes.io/hostname, operator: Exists}", 1),
			`in.yaml:10 (document 1): NodePool default: spec.template.spec.requirements[0].key: kubernetes.io/hostname: label "kubernetes.io/hostname" is restricted`,
		},
		{
			"missing name",
			"apiVersion: v1\nkind: Pod\nmetadata: {}\n",
			"in.yaml:3 (document 1): Pod: metadata.name: missing",
		},
		{
			"unknown kind",
			"apiVersion: karpenter.sh/v1\nkind: NodePol\nmetadata: {name: a}\n",
			`in.yaml:2 (document 1): NodePol a: kind: kind "NodePol" does not exist in karpenter.sh/v1; known are NodeClaim, NodePool`,
		},
		{
			"less than nothing is asked for",
			"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: c\n    resources:\n      requests:\n        cpu: -1\n        memory: -1Gi\n",
			"in.yaml:9 (document 1): Pod a: spec.containers[0].resources.requests.cpu: must not be negative\n" +
				"in.yaml:10 (document 1): Pod a: spec.containers[0].resources.requests.memory: must not be negative",
		},
		{
			"fewer than no pods",
			"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  replicas: -1\n",
			"in.yaml:5 (document 1): Deployment a: spec.replicas: must not be negative",
		},
		{
			"more pods than memory holds",
			"apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec:\n  parallelism: 2147483647\n",
			"in.yaml:5 (document 1): Job a: spec.parallelism: 2147483647 pods are more than the 500000 that can be planned for at once",
		},
		{
			"neither apiVersion nor kind",
			"metadata: {name: a}\n",
			"in.yaml:1 (document 1): apiVersion: missing; every document needs apiVersion and kind",
		},
		{
			"fields that are set twice, after a document that templates left empty",
			"null\n---\napiVersion: v1\nkind: Pod\nkind: Pod\nmetadata: {name: a, name: b}\n",
			"in.yaml:5 (document 1): not YAML: key \"kind\" already set in map\n" +
				"in.yaml:6 (document 1): not YAML: key \"name\" already set in map",
		},
		{
			"not YAML",
			"apiVersion: v1\nkind: [\n",
			"in.yaml:2 (document 1): not YAML: did not find expected node content",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := r.Read("in.yaml", strings.NewReader(c.text))
			if err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestListsAndDuplicates(t *testing.T) {
	r := newReader(t)
	for _, c := range []struct{ name, text, want string }{
		{
			"item of a list",
			"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: a}\n  spec:\n    node: x\n",
			"in.yaml:8 (document 1): Pod a: items[0].spec.node: unknown field",
		},
		{
			"twice",
			"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: default}\n",
			"in.yaml:7 (document 2): Pod default/a: metadata.name: described before, in in.yaml:3; keep one of them",
		},
	} {
		if _, err := r.Read("in.yaml", strings.NewReader(c.text)); err == nil || err.Error() != c.want {
			t.Errorf("%s: got  %v\nwant %s", c.name, err, c.want)
		}
	}
}

func TestAllErrorsAreReported(t *testing.T) {
	text := "kind: Pod\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {x: 1, y: 2}\n"
	_, err := newReader(t).Read("in.yaml", strings.NewReader(text))
	if err == nil || strings.Count(err.Error(), "in.yaml:") != 3 {
		t.Errorf("want three errors, got:\n%v", err)
	}
}

func TestForeignKindsAreSkippedAndNamed(t *testing.T) {
	text := "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: front}\n"
	m, err := newReader(t).Read("in.yaml", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"in.yaml:2: Ingress front"}, m.Skipped); diff != "" {
		t.Error(diff)
	}
}

func TestDirectoriesFilesAndStdinAreReadTogether(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"b.yaml":     "apiVersion: v1\nkind: Pod\nmetadata: {name: b}\n",
		"sub/a.yml":  "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n",
		"readme.txt": "nothing to see",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m, err := newReader(t).ReadPaths([]string{dir, Stdin}, strings.NewReader("apiVersion: v1\nkind: Pod\nmetadata: {name: c}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"b", "a", "c"}, names(m.Objects)); diff != "" {
		t.Error(diff)
	}
	if _, err := newReader(t).ReadPaths([]string{filepath.Join(dir, "none.yaml")}, nil); err == nil {
		t.Error("a missing file is no error")
	}
}

func names(objects []client.Object) []string {
	var out []string
	for _, o := range objects {
		out = append(out, o.GetName())
	}
	return out
}

func podsOf(t *testing.T, text string) []*corev1.Pod {
	t.Helper()
	m, err := newReader(t).Read("in.yaml", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var out []*corev1.Pod
	for _, o := range Expand(m.Objects) {
		if pod, ok := o.(*corev1.Pod); ok {
			out = append(out, pod)
		}
	}
	return out
}

func TestWorkloadsAreUnrolled(t *testing.T) {
	template := "template: {metadata: {labels: {app: x}}, spec: {containers: [{name: c, image: i}]}}"
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"Deployment", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 2, " + template + "}", []string{"web-1", "web-2"}},
		{"Deployment without a number", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {" + template + "}", []string{"web-1"}},
		{"StatefulSet", "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\nspec: {replicas: 2, " + template + "}", []string{"db-0", "db-1"}},
		{"Job", "apiVersion: batch/v1\nkind: Job\nmetadata: {name: calc}\nspec: {parallelism: 3, completions: 2, " + template + "}", []string{"calc-1", "calc-2"}},
		{"suspended Job", "apiVersion: batch/v1\nkind: Job\nmetadata: {name: calc}\nspec: {suspend: true, " + template + "}", nil},
		{"DaemonSet", "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: log}\nspec: {" + template + "}", nil},
		{"Deployment with one described pod", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 2, " + template + "}\n---\n" +
			"apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: web-7d, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: u, controller: true}]}\nspec: {replicas: 2, " + template + "}\n---\n" +
			"apiVersion: v1\nkind: Pod\nmetadata: {name: web-7d-x, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-7d, uid: u, controller: true}]}\n", []string{"web-7d-2", "web-7d-x"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, pod := range podsOf(t, c.text) {
				got = append(got, pod.Name)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("pods (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPodsAreAdmitted(t *testing.T) {
	pods := podsOf(t, `
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 7
---
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: sandbox}
handler: h
overhead: {podFixed: {cpu: 250m}}
scheduling: {nodeSelector: {a: b}}
---
apiVersion: v1
kind: Pod
metadata: {name: waiting}
spec:
  priorityClassName: high
  runtimeClassName: sandbox
  resources: {limits: {memory: 3Gi}}
  containers: [{name: c, resources: {limits: {cpu: "2"}, requests: {memory: 1Gi}}}]
---
apiVersion: v1
kind: Pod
metadata: {name: bound}
spec: {nodeName: node-1, containers: []}
---
apiVersion: v1
kind: Pod
metadata: {name: gated}
spec: {schedulingGates: [{name: g}], containers: []}
`)
	waiting, bound, gated := pods[0], pods[1], pods[2]
	if got := waiting.Spec.Containers[0].Resources.Requests.Cpu().String(); got != "2" {
		t.Errorf("cpu request is %s, want the limit 2", got)
	}
	if got := waiting.Spec.Resources.Requests.Memory().String(); got != "1Gi" {
		t.Errorf("pod-level memory request is %s, want that of the containers, 1Gi", got)
	}
	if *waiting.Spec.Priority != 7 || waiting.Spec.Overhead.Cpu().String() != "250m" || waiting.Spec.NodeSelector["a"] != "b" {
		t.Errorf("classes were not applied: %+v", waiting.Spec)
	}
	for _, c := range []struct {
		pod  *corev1.Pod
		want string
	}{{waiting, corev1.PodReasonUnschedulable}, {bound, ""}, {gated, corev1.PodReasonSchedulingGated}} {
		got := ""
		if len(c.pod.Status.Conditions) > 0 {
			got = c.pod.Status.Conditions[0].Reason
		}
		if got != c.want {
			t.Errorf("pod %s: verdict %q, want %q", c.pod.Name, got, c.want)
		}
	}
}

func TestExpandLeavesItsInputAlone(t *testing.T) {
	text := "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {spec: {containers: [{name: c, resources: {limits: {cpu: 1}}}]}}}"
	m, err := newReader(t).Read("in.yaml", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	before := m.Objects[0].DeepCopyObject()
	first, second := Expand(m.Objects), Expand(m.Objects)
	if diff := cmp.Diff(before, m.Objects[0]); diff != "" {
		t.Errorf("input changed:\n%s", diff)
	}
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("two expansions differ:\n%s", diff)
	}
	if _, ok := first[0].(*appsv1.Deployment); !ok {
		t.Errorf("the workload itself is gone, got %T", first[0])
	}
}
