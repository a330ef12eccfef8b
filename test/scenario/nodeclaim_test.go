package scenario

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/manifest"
	"github.com/karpenter-anew/karpenter/internal/simulation"
	"github.com/karpenter-anew/karpenter/test/scenario/scenariorun"
)

// everything is a pool that sets every field, a DaemonSet, and two pods with further requirements.
const everything = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: full}
spec:
  template:
    metadata:
      labels: {example.com/team: search}
      annotations: {example.com/note: kept}
    spec:
      requirements:
      - {key: kubernetes.io/os, operator: In, values: [linux]}
      - {key: topology.kubernetes.io/zone, operator: In, values: [test-zone-a, test-zone-b]}
      - {key: karpenter.kwok.sh/instance-cpu, operator: Lte, values: ["2"]}
      - {key: example.com/tier, operator: In, values: [silver, gold]}
      - {key: example.com/open, operator: Exists}
      taints:
      - {key: example.com/dedicated, value: search, effect: NoSchedule}
      startupTaints:
      - {key: example.com/boot, effect: NoSchedule}
      expireAfter: 24h
      terminationGracePeriod: 1h
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
---
apiVersion: karpenter.kwok.sh/v1alpha1
kind: KWOKNodeClass
metadata: {name: default}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      nodeSelector: {karpenter.sh/initialized: "true"}
      tolerations: [{operator: Exists}]
      containers:
      - {name: app, image: registry.k8s.io/pause:3.10, resources: {requests: {cpu: 100m, memory: 64Mi}}}
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
      nodeSelector: {kubernetes.io/arch: amd64, topology.kubernetes.io/zone: test-zone-b, example.com/tier: gold}
      tolerations: [{operator: Exists}]
      containers:
      - {name: app, image: registry.k8s.io/pause:3.10, resources: {requests: {cpu: 600m, memory: 128Mi}}}
`

// full is the NodeClaim for it, without the hash of the pool.
const full = `
metadata:
  annotations:
    example.com/note: kept
    karpenter.sh/nodeclaim-min-values-relaxed: "false"
    karpenter.sh/nodepool-hash-version: v3
  finalizers: [karpenter.sh/termination]
  generateName: full-
  labels:
    example.com/open: "0"
    example.com/team: search
    example.com/tier: gold
    karpenter.kwok.sh/kwoknodeclass: default
    karpenter.sh/nodepool: full
  ownerReferences:
  - {apiVersion: karpenter.sh/v1, kind: NodePool, name: full, blockOwnerDeletion: true}
spec:
  expireAfter: 24h
  terminationGracePeriod: 1h0m0s
  nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
  taints:
  - {key: example.com/dedicated, value: search, effect: NoSchedule}
  startupTaints:
  - {key: example.com/boot, effect: NoSchedule}
  requirements:
  - {key: example.com/open, operator: Exists}
  - {key: example.com/team, operator: In, values: [search]}
  - {key: example.com/tier, operator: In, values: [gold]}
  - {key: karpenter.kwok.sh/instance-cpu, operator: Lte, values: ["2"]}
  - {key: karpenter.kwok.sh/kwoknodeclass, operator: In, values: [default]}
  - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand, spot]}
  - {key: karpenter.sh/nodepool, operator: In, values: [full]}
  - {key: kubernetes.io/arch, operator: In, values: [amd64]}
  - {key: kubernetes.io/os, operator: In, values: [linux]}
  - {key: node.kubernetes.io/instance-type, operator: In, values: [c-2x-amd64-linux, m-2x-amd64-linux, s-2x-amd64-linux]}
  - {key: topology.kubernetes.io/zone, operator: In, values: [test-zone-b]}
  resources:
    requests: {cpu: 1300m, memory: 320Mi, pods: "3"}
`

// TestWhatANodeClaimSays compares every field. It would also find what must not be there: a host name, labels of simulations, well-known
// labels among the labels of the claim.
func TestWhatANodeClaimSays(t *testing.T) {
	t.Attr("covers", "L076 L077 L078 L158 L165 L211 L212 L213 L214 L215 L216 L218 L219")
	m, err := scenariorun.Reader(t).Read("everything.yaml", strings.NewReader(everything))
	if err != nil {
		t.Fatal(err)
	}
	result, err := simulation.Run(context.Background(), manifest.Expand(m.Objects), scenariorun.Clouds(t)(""), simulation.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Claims) != 1 {
		t.Fatalf("%d claims:\n%s", len(result.Claims), result.Text())
	}
	got := result.Claims[0].DeepCopy()
	if hash := got.Annotations[v1.NodePoolHashAnnotationKey]; hash == "" {
		t.Error("the hash is missing")
	}
	delete(got.Annotations, v1.NodePoolHashAnnotationKey)
	got.OwnerReferences[0].UID = ""
	var want v1.NodeClaim
	if err := yaml.UnmarshalStrict([]byte(full), &want); err != nil {
		t.Fatal(err)
	}
	render := func(claim *v1.NodeClaim) string {
		text, err := yaml.Marshal(claim)
		if err != nil {
			t.Fatal(err)
		}
		return string(bytes.TrimSpace(text))
	}
	if diff := cmp.Diff(render(&want), render(got)); diff != "" {
		t.Error(diff)
	}
}
