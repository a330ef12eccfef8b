package simulation

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/manifest"
	"github.com/karpenter-anew/karpenter/test/apiserver"
	"github.com/karpenter-anew/karpenter/test/generate"
)

// landlord are the pools that tenants share: one leaves a label to pods and has a taint, one requires several values, one is plain.
const landlord = `
apiVersion: karpenter.kwok.sh/v1alpha1
kind: KWOKNodeClass
metadata: {name: default}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: open}
spec:
  weight: 10
  template:
    spec:
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
      taints: [{key: example.com/taint, value: a, effect: NoSchedule}]
      requirements: [{key: example.com/team, operator: Exists}, {key: karpenter.kwok.sh/instance-cpu, operator: Gt, values: ["1"]}]
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: flexible}
spec:
  weight: 5
  limits: {cpu: "100"}
  template:
    spec:
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
      requirements:
      - {key: topology.kubernetes.io/zone, operator: Exists, minValues: 2}
      - {key: example.com/team, operator: In, values: [a, b, c]}
      - {key: node.kubernetes.io/instance-type, operator: Exists, minValues: 5}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: plain}
spec:
  template:
    metadata: {labels: {example.com/other: a}}
    spec:
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
      requirements: [{key: example.com/team, operator: Exists}, {key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}]
---
apiVersion: v1
kind: Pod
metadata: {name: honest, namespace: default}
spec: {containers: [{name: a, resources: {requests: {cpu: "1", memory: 1Gi}}}]}
`

// FuzzTenants plans for pods, volumes, PodDisruptionBudgets, DaemonSets and ResourceClaims that users may create, and checks that there is no
// panic, that equal input gives equal output, that every claim of the plan could be created, and that the honest pod gets a node.
func FuzzTenants(f *testing.F) {
	for _, seed := range [][]byte{
		{},
		slices.Repeat([]byte{7}, 60),
		slices.Repeat([]byte{7, 0}, 60),
		slices.Repeat([]byte{0, 7, 1, 6, 15}, 40),
		slices.Repeat([]byte{5, 90, 6, 80, 7, 70, 5, 60, 6, 50, 7, 40, 5, 30, 15, 20, 31, 10}, 10),
		slices.Repeat([]byte{6, 5, 7, 13, 22, 15, 47, 8, 21, 6, 13}, 20),
	} {
		f.Add(seed, uint8(len(seed)))
	}
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 0))
		choices := make([]byte, 20+r.IntN(400))
		for i := range choices {
			choices[i] = byte(r.IntN(256))
		}
		f.Add(choices, uint8(seed))
	}
	read, err := stage().judge.Read("landlord", strings.NewReader(landlord))
	if err != nil {
		f.Fatal(err)
	}
	pools := manifest.Expand(read.Objects)
	f.Fuzz(func(t *testing.T, choices []byte, bits uint8) {
		tenant := generate.Tenant(generate.From(choices))
		o := Options{Preferences: [...]model.PreferencePolicy{model.RespectPreferences, model.IgnorePreferences, model.EconomicalPreferences}[bits&1+bits>>3&1], BestEffortMinValues: bits&2 != 0, AllocateDevices: bits&4 != 0}
		objects := manifest.Expand(slices.Concat(pools, tenant))
		text := text(t, tenant)
		result, err := Run(t.Context(), objects, stage().vendor, o)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		slices.Reverse(objects)
		if again, err := Run(t.Context(), objects, stage().vendor, o); err != nil || again.Text() != result.Text() {
			t.Errorf("asked again in another order, the answer is different: %v\n%s\n%s\n%s", err, result.Text(), again.Text(), text)
		}
		for _, claim := range result.Claims {
			creatable(t, claim, text)
		}
		if !honestServed(result) {
			t.Errorf("the honest pod gets no node:\n%s\n%s", result.Text(), text)
		}
	})
}

// honestServed reports whether the plan has a node for the pod of the landlord's manifest.
func honestServed(r Result) bool {
	for _, c := range r.Plan.NodeClaims {
		for _, pod := range c.Pods {
			if pod.Name == "honest" {
				return true
			}
		}
	}
	return false
}

// text shows objects as manifests.
func text(t *testing.T, objects []client.Object) string {
	t.Helper()
	var out []string
	for _, o := range objects {
		kinds, _, err := apiserver.Scheme().ObjectKinds(o)
		if err != nil {
			t.Fatal(err)
		}
		o.GetObjectKind().SetGroupVersionKind(kinds[0])
		raw, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		shown, err := yaml.JSONToYAML(raw)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(shown))
	}
	return strings.Join(out, "---\n")
}
