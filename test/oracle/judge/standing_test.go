package judge_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	kwokcrds "github.com/karpenter-anew/karpenter/api/kwok/crds"
	"github.com/karpenter-anew/karpenter/cloud/kwok"
	"github.com/karpenter-anew/karpenter/internal/manifest"
	"github.com/karpenter-anew/karpenter/test/oracle/judge"
)

// spread is three pods that spread over zones, and a pool with three zones.
const spread = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      expireAfter: Never
      requirements:
      - {key: kubernetes.io/os, operator: In, values: [linux]}
      - {key: topology.kubernetes.io/zone, operator: In, values: [test-zone-a, test-zone-b, test-zone-c]}
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
---
apiVersion: karpenter.kwok.sh/v1alpha1
kind: KWOKNodeClass
metadata: {name: default}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}
      containers:
      - {name: app, image: "registry.k8s.io/pause:3.10", resources: {requests: {cpu: 100m, memory: 64Mi}}}
`

// TestPlansInFewerDomainsAreWeaker: all pods in one zone can be bound as long as there are no nodes elsewhere.
func TestPlansInFewerDomainsAreWeaker(t *testing.T) {
	j, p := newJudge(t), problem(t, spread)
	together, apart := plan(t, 0, []string{"test-zone-a"}, 3), plan(t, 0, []string{"test-zone-a", "test-zone-b", "test-zone-c"}, 1)
	for _, other := range []judge.OtherPlan{together, apart} {
		if faults := j.Faults(p, other); len(faults) > 0 {
			t.Fatalf("the plan is wrong: %+v", faults)
		}
	}
	for _, c := range []struct {
		plan judge.OtherPlan
		want judge.Standing
	}{{together, judge.Weaker}, {apart, judge.Sound}} {
		if got, err := j.Standing(p, c.plan); err != nil || got != c.want {
			t.Errorf("a plan of %d NodeClaims has standing %v, %v; want %v", len(c.plan.Claims), got, err, c.want)
		}
	}
}

// counted is two pods that the spread of the others counts, without having it.
const counted = `---
apiVersion: apps/v1
kind: Deployment
metadata: {name: canary}
spec:
  replicas: 2
  selector: {matchLabels: {app: web, track: canary}}
  template:
    metadata: {labels: {app: web, track: canary}}
    spec:
      nodeSelector: {topology.kubernetes.io/zone: test-zone-a}
      containers:
      - {name: app, image: "registry.k8s.io/pause:3.10", resources: {requests: {cpu: 100m, memory: 64Mi}}}
`

// TestPlansThatDependOnAnOrderAreWeaker: once both pods that the spread counts run in a zone, it takes no pod of the spread anymore.
func TestPlansThatDependOnAnOrderAreWeaker(t *testing.T) {
	j, p := newJudge(t), problem(t, spread+counted)
	other := plan(t, 0, []string{"test-zone-a", "test-zone-b", "test-zone-c"}, 1)
	other.Claims[0].Pods = append(other.Claims[0].Pods, "pod/default/canary/000001", "pod/default/canary/000002")
	if faults := j.Faults(p, other); len(faults) > 0 {
		t.Fatalf("the plan is wrong: %+v", faults)
	}
	if got, err := j.Standing(p, other); err != nil || got != judge.Weaker {
		t.Errorf("the plan has standing %v, %v; want that of a weaker one", got, err)
	}
}

// TestPlansFromPoolsThatAreTriedLater: the engine launches from the pool that is tried first, whatever others cost: that of the highest weight,
// of these the last one by name. A pool with a PreferNoSchedule taint comes after all others.
func TestPlansFromPoolsThatAreTriedLater(t *testing.T) {
	pool, _, _ := strings.Cut(spread, "---")
	zones := []string{"test-zone-a", "test-zone-b", "test-zone-c"}
	const taint = "      taints: [{key: avoid, effect: PreferNoSchedule}]\n"
	for _, c := range []struct {
		name, pool, taint string
		want              judge.Standing
	}{
		{"higher weight", "metadata: {name: first}\nspec:\n  weight: 10\n", "", judge.Later},
		{"equal weight, later name", "metadata: {name: last}\nspec:\n", "", judge.Later},
		{"equal weight, earlier name", "metadata: {name: another}\nspec:\n", "", judge.Sound},
		{"equal weight, earlier name, no taint", "metadata: {name: another}\nspec:\n", taint, judge.Later},
	} {
		t.Run(c.name, func(t *testing.T) {
			other := strings.Replace(spread, "metadata: {name: default}\nspec:\n", c.pool, 1)
			j, p := newJudge(t), problem(t, other+"---"+strings.Replace(pool, "      nodeClassRef", c.taint+"      nodeClassRef", 1))
			if got, err := j.Standing(p, plan(t, 0, zones, 1)); err != nil || got != c.want {
				t.Errorf("the plan has standing %v, %v; want %v", got, err, c.want)
			}
		})
	}
}

// half is a node with capacity for one of two equal pods.
const half = `
apiVersion: v1
kind: Node
metadata: {name: half, labels: {kubernetes.io/hostname: half}}
status: {capacity: {cpu: 1, memory: 1Gi, pods: 10}}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: last}
spec:
  template:
    spec:
      expireAfter: Never
      requirements: [{key: kubernetes.io/os, operator: In, values: [linux]}]
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: app, image: "registry.k8s.io/pause:3.10", resources: {requests: {cpu: 800m, memory: 64Mi}}}
---`

// TestPlansFromLaterPoolsForEqualPods: which of two equal pods joins the node that exists does not tell the plans apart.
func TestPlansFromLaterPoolsForEqualPods(t *testing.T) {
	pool, class, _ := strings.Cut(spread, "---")
	class, _, _ = strings.Cut(class, "---")
	j, p := newJudge(t), problem(t, half+pool+"---"+class)
	pods := []string{"pod/default/web/000001", "pod/default/web/000002"}
	for i := range pods {
		other := plan(t, 0, []string{"test-zone-a"}, 1)
		other.Claims[0].Pods = []string{pods[i]}
		other.Nodes = map[string][]string{"half": {pods[1-i]}}
		if faults := j.Faults(p, other); len(faults) > 0 {
			t.Fatalf("the plan is wrong: %+v", faults)
		}
		if got, err := j.Standing(p, other); err != nil || got != judge.Later {
			t.Errorf("the plan that launches a node for %s has standing %v, %v; want that of a plan from a later pool", pods[i], got, err)
		}
	}
}

// first is a pod that tolerates the taint of the pool that is tried first, and one that does not.
const first = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: first}
spec:
  weight: 10
  template:
    spec:
      expireAfter: Never
      requirements:
      - {key: kubernetes.io/os, operator: In, values: [linux]}
      taints: [{key: first, effect: NoSchedule}]
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
---
apiVersion: v1
kind: Pod
metadata: {name: tolerant}
spec:
  tolerations: [{key: first, operator: Exists}]
  containers:
  - {name: app, image: "registry.k8s.io/pause:3.10", resources: {requests: {cpu: 100m, memory: 64Mi}}}
---
`

// TestPlansWherePodsJoinNodesOfLaterPoolsAreSound: a node that other pods need may take those that a pool before could have.
func TestPlansWherePodsJoinNodesOfLaterPoolsAreSound(t *testing.T) {
	j, p := newJudge(t), problem(t, first+spread)
	other := plan(t, 0, []string{"test-zone-a", "test-zone-b", "test-zone-c"}, 1)
	other.Claims[0].Pods = append(other.Claims[0].Pods, "pod/default/tolerant")
	if faults := j.Faults(p, other); len(faults) > 0 {
		t.Fatalf("the plan is wrong: %+v", faults)
	}
	if got, err := j.Standing(p, other); err != nil || got != judge.Sound {
		t.Errorf("the plan has standing %v, %v; want that of a sound one", got, err)
	}
}

// TestPlansWithInvalidNodeClaimsAreFaulty: the API server refuses minValues beyond the values that are listed.
func TestPlansWithInvalidNodeClaimsAreFaulty(t *testing.T) {
	faults := newJudge(t).Faults(problem(t, spread), plan(t, 2, []string{"test-zone-a"}, 3))
	if len(faults) != 1 || faults[0].Kind != judge.Invalid {
		t.Errorf("the faults are %+v; want one of a NodeClaim", faults)
	}
}

func newJudge(t *testing.T) *judge.Judge {
	t.Helper()
	definitions, err := kwokcrds.Definitions()
	if err != nil {
		t.Fatal(err)
	}
	reader, err := manifest.NewReader(definitions)
	if err != nil {
		t.Fatal(err)
	}
	c, err := kwok.New(nil, kwok.Options{})
	if err != nil {
		t.Fatal(err)
	}
	j, err := judge.New(t.Context(), reader, c)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func problem(t *testing.T, text string) judge.Problem {
	t.Helper()
	p := judge.Problem{Name: t.Name(), Seed: 1}
	for document := range strings.SplitSeq(text, "---\n") {
		var fields map[string]any
		if err := yaml.Unmarshal([]byte(document), &fields); err != nil {
			t.Fatal(err)
		}
		p.Documents = append(p.Documents, fields)
	}
	return p
}

// plan is a NodeClaim in each zone, for so many pods each. minValues of the zone may be 0 for none.
func plan(t *testing.T, minValues int, zones []string, each int) judge.OtherPlan {
	t.Helper()
	var claims []string
	for i, zone := range zones {
		var pods []string
		for n := range each {
			pods = append(pods, fmt.Sprintf("pod/default/web/%06d", i*each+n+1))
		}
		uids, err := json.Marshal(pods)
		if err != nil {
			t.Fatal(err)
		}
		least := ""
		if minValues > 0 {
			least = fmt.Sprintf(`, "minValues": %d`, minValues)
		}
		claims = append(claims, fmt.Sprintf(`{"Pods": %s, "Claim": {"metadata": {"generateName": "default-", "labels": {"karpenter.sh/nodepool": "default"}}, "spec": {
			"nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}, "expireAfter": "Never",
			"resources": {"requests": {"cpu": "300m"}},
			"requirements": [{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["c-4x-amd64-linux"]},
				{"key": "topology.kubernetes.io/zone", "operator": "In", "values": [%q]%s}]}}}`, uids, zone, least))
	}
	var out judge.OtherPlan
	if err := json.Unmarshal([]byte(`{"Claims": [`+strings.Join(claims, ",")+`]}`), &out); err != nil {
		t.Fatal(err)
	}
	return out
}
