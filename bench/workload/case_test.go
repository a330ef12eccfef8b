package workload

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const pool = `apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
      requirements: [{key: kubernetes.io/os, operator: In, values: [linux]}]
`

// folder is a case made of files.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestEveryCaseOfTheBenchCanBeRead(t *testing.T) {
	cases, err := Find("../cases")
	if err != nil || len(cases) == 0 {
		t.Fatalf("found %d cases, %v", len(cases), err)
	}
	for _, c := range cases {
		in, err := c.Input(context.Background(), 10, "")
		if c.Generator.Trace != nil && errors.Is(err, ErrNoTrace) {
			continue
		}
		if err != nil {
			t.Error(err)
		} else if len(in.Pods) != 10 {
			t.Errorf("case %s has %d pods, want 10", c.Name, len(in.Pods))
		}
	}
}

func TestTheSameSeedMakesTheSamePods(t *testing.T) {
	c, err := Read("../cases/selectors")
	if err != nil {
		t.Fatal(err)
	}
	first, err := c.Input(context.Background(), 50, "")
	if err != nil {
		t.Fatal(err)
	}
	second, err := c.Input(context.Background(), 50, "")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first.Pods, second.Pods); diff != "" {
		t.Errorf("the second time the pods are others:\n%s", diff)
	}
	c.Generator.Mix.Seed++
	if second, err = c.Input(context.Background(), 50, ""); err != nil {
		t.Fatal(err)
	}
	if cmp.Equal(first.Pods, second.Pods) {
		t.Error("another seed makes the same pods")
	}
}

func TestEveryPodDrawsItsLabelsAndSelectors(t *testing.T) {
	text := `catalog: ladder-4
pods: [60]
generator:
  mix:
    cpu: ["1"]
    memory: [1Gi]
    draw: {own: [a, b], zone: [1..3]}
    labels: {app: $(own)}
    kinds:
      - pod: {nodeSelector: {topology.kubernetes.io/zone: zone-$(zone)}}
      - labels: {app: other}
`
	c, err := Read(folder(t, map[string]string{"case.yaml": text, "pool.yaml": pool}))
	if err != nil {
		t.Fatal(err)
	}
	in, err := c.Input(context.Background(), 60, "")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, p := range in.Pods {
		seen[p.Labels["app"]+" "+p.Spec.NodeSelector["topology.kubernetes.io/zone"]] = true
	}
	want := map[string]bool{
		"a zone-1": true, "a zone-2": true, "a zone-3": true, "b zone-1": true, "b zone-2": true, "b zone-3": true, "other ": true,
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("labels and zones of the pods (-want +got):\n%s", diff)
	}
}

func TestARunningClusterHoldsItsPods(t *testing.T) {
	text := `catalog: ladder-4
oursOnly: true
pods: [5]
generator:
  running: {nodes: 3, pods: 7, type: rung-4}
  mix: {cpu: ["1"], memory: [1Gi]}
`
	c, err := Read(folder(t, map[string]string{"case.yaml": text, "pool.yaml": pool}))
	if err != nil {
		t.Fatal(err)
	}
	in, err := c.Input(context.Background(), 5, "")
	if err != nil {
		t.Fatal(err)
	}
	running := map[string]int{}
	for _, p := range in.Running {
		running[p.Spec.NodeName]++
	}
	// A node with 4 CPUs leaves less than 4 to pods.
	want := map[string]int{"node-00000": 3, "node-00001": 2, "node-00002": 2}
	if diff := cmp.Diff(want, running); diff != "" || len(in.Claims) != 3 || len(in.Nodes) != 3 || len(in.Pods) != 5 {
		t.Errorf("%d nodes, %d claims, %d pods wait, and running pods by node are (-want +got):\n%s", len(in.Nodes), len(in.Claims), len(in.Pods), diff)
	}
	for i, n := range in.Nodes {
		if n.Spec.ProviderID != in.Claims[i].Status.ProviderID || n.Labels["karpenter.sh/initialized"] != "true" {
			t.Errorf("node %s is not the initialized node of its claim", n.Name)
		}
	}
}

func TestPodsOfManifestsAndOfATrace(t *testing.T) {
	deployment := `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web, resources: {requests: {cpu: "1"}}}]}
`
	trace := filepath.Join(folder(t, map[string]string{
		"list.csv": "name,cpu_milli,memory_mib,num_gpu,qos\na,500,1024,2,LS\nb,250,10,0,LS\n",
	}), "list.csv")
	for _, c := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"manifests", map[string]string{"case.yaml": "catalog: generic", "pool.yaml": pool, "web.yaml": deployment}, []string{
			"web-1 cpu 1, memory 0, gpu 0", "web-2 cpu 1, memory 0, gpu 0", "web-3 cpu 1, memory 0, gpu 0",
		}},
		{"trace", map[string]string{"case.yaml": "catalog: generic\ngenerator: {trace: {gpu: nvidia.com/gpu}}", "pool.yaml": pool}, []string{
			"a cpu 500m, memory 1Gi, gpu 2", "b cpu 250m, memory 10Mi, gpu 0",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			read, err := Read(folder(t, c.files))
			if err != nil {
				t.Fatal(err)
			}
			in, err := read.Input(context.Background(), read.Sizes(false)[0], trace)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range in.Pods {
				r := p.Spec.Containers[0].Resources.Requests
				gpu := r["nvidia.com/gpu"]
				got = append(got, p.Name+" cpu "+r.Cpu().String()+", memory "+r.Memory().String()+", gpu "+gpu.String())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("the pods (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBadCasesSayWhatIsWrong(t *testing.T) {
	mix := "generator: {mix: {cpu: ['1'], memory: [1Gi]}}\n"
	node := "apiVersion: v1\nkind: Node\nmetadata: {name: node-1}\nspec: {}\n"
	for _, c := range []struct{ name, text, pool, want string }{
		{"no catalog", "pods: [1]\n" + mix, pool, "give either catalog or catalogFile"},
		{"an unknown field", "catalogue: generic", pool, `unknown field "catalogue"`},
		{"an unknown catalog", "catalog: nowhere\npods: [1]\n" + mix, pool, "generic"},
		{"a ladder without rungs", "catalog: ladder-x\npods: [1]\n" + mix, pool, "a number of types is expected"},
		{"a mix without sizes", "catalog: generic\n" + mix, pool, "needs at least one size"},
		{"sizes without a generator", "catalog: generic\npods: [1]", pool, "sizes need a generator"},
		{"a size of nothing", "catalog: generic\npods: [0]\n" + mix, pool, "sizes are positive"},
		{"kinds without memory", "catalog: generic\npods: [1]\ngenerator: {mix: {cpu: ['1']}}", pool, "kinds[0]"},
		{"no pool", "catalog: generic\npods: [1]\n" + mix, "", "it has 0 NodePools"},
		{"nodes for upstream", "catalog: generic\npods: [1]\n" + mix, pool + "---\n" + node, "set oursOnly"},
		{"nothing to draw", "catalog: generic\npods: [1]\ngenerator: {mix: {cpu: ['1'], memory: [1Gi], draw: {app: []}}}", pool, "nothing to draw from"},
		{"what is not drawn", "catalog: generic\npods: [1]\ngenerator: {mix: {cpu: ['1'], memory: [1Gi], labels: {app: $(app)}}}", pool, "$(app) is not drawn"},
		{"a field that pods lack", "catalog: generic\npods: [1]\ngenerator: {mix: {cpu: ['1'], memory: [1Gi], kinds: [{pod: {selector: {}}}]}}", pool, "selector"},
		{"running pods of no mix", "catalog: generic\ngenerator: {running: {nodes: 1}}", pool, "needs a mix"},
		{"nodes of no type", "catalog: ladder-4\npods: [1]\n" + strings.TrimSuffix(mix, "}\n") + ", running: {nodes: 1, type: rung-5}}", pool, `no instance type "rung-5"`},
		{"more than fits", "catalog: ladder-4\noursOnly: true\npods: [1]\n" + strings.TrimSuffix(mix, "}\n") + ", running: {nodes: 2, pods: 7, type: rung-4}}", pool, "no capacity for 7 pods"},
		{"no list", "catalog: generic\ngenerator: {trace: {}}", pool, "TRACE=file.csv"},
	} {
		t.Run(c.name, func(t *testing.T) {
			read, err := Read(folder(t, map[string]string{"case.yaml": c.text, "pool.yaml": c.pool}))
			if err == nil {
				_, err = read.Input(context.Background(), 1, "")
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v; want %q in it", err, c.want)
			}
		})
	}
}

func TestSizes(t *testing.T) {
	for _, c := range []struct {
		pods, quickPods, full, quick []int
	}{
		{[]int{500, 5000}, nil, []int{500, 5000}, []int{500}},
		{[]int{500, 5000}, []int{100}, []int{500, 5000}, []int{100}},
		{nil, nil, []int{0}, []int{0}},
		{nil, []int{500}, []int{0}, []int{500}},
	} {
		it := Case{Pods: c.pods, QuickPods: c.quickPods}
		if full, quick := it.Sizes(false), it.Sizes(true); !cmp.Equal(full, c.full) || !cmp.Equal(quick, c.quick) {
			t.Errorf("%v and %v: sizes %v and %v, want %v and %v", c.pods, c.quickPods, full, quick, c.full, c.quick)
		}
	}
}
