package simulation

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kjson "sigs.k8s.io/json"

	kwokcrds "github.com/karpenter-anew/karpenter/api/kwok/crds"
	"github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/kwok"
	"github.com/karpenter-anew/karpenter/internal/manifest"
	"github.com/karpenter-anew/karpenter/test/generate"
)

// company are the objects beside the generated ones: pods of some kinds, and a node that a pod is bound to.
const company = `
apiVersion: karpenter.kwok.sh/v1alpha1
kind: KWOKNodeClass
metadata: {name: default}
---
apiVersion: v1
kind: Pod
metadata: {name: plain, labels: {app: a}}
spec: {containers: [{name: a, resources: {requests: {cpu: "1", memory: 1Gi}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: choosy, labels: {app: a}}
spec:
  nodeSelector: {example.com/team: a}
  tolerations: [{operator: Exists}]
  containers: [{name: a}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: spread}
spec:
  replicas: 3
  selector: {matchLabels: {app: b}}
  template:
    metadata: {labels: {app: b}}
    spec:
      topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: b}}}]
      containers: [{name: a, resources: {requests: {cpu: "3"}}}]
`

// stage is the immutable state of a run of the fuzzer.
var stage = sync.OnceValue(func() struct {
	definitions map[string]*apiextensionsv1.CustomResourceDefinition
	judge       *manifest.Reader
	vendor      cloud.Cloud
} {
	all, err := kwokcrds.Definitions()
	if err != nil {
		panic(err)
	}
	judge, err := manifest.NewReader(all)
	if err != nil {
		panic(err)
	}
	vendor, err := kwok.New(nil, kwok.Options{})
	if err != nil {
		panic(err)
	}
	definitions := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, crd := range all {
		definitions[crd.Spec.Names.Kind] = crd
	}
	return struct {
		definitions map[string]*apiextensionsv1.CustomResourceDefinition
		judge       *manifest.Reader
		vendor      cloud.Cloud
	}{definitions, judge, vendor}
})

// FuzzPools plans for pools and overlays that the API server would admit, and checks that there is no panic, that equal input gives
// equal output, and that every claim of the plan could be created.
func FuzzPools(f *testing.F) {
	for _, seed := range [][]byte{
		{},
		{0, 1, 2, 3, 4, 5, 6, 7, 6, 5, 4, 3, 2, 1, 0, 1, 2, 3},
		{7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7},
		{7, 0, 7, 1, 7, 2, 7, 3, 7, 4, 7, 5, 7, 6, 7, 0, 7, 1, 7, 2, 7, 3},
		{5, 90, 6, 80, 7, 70, 5, 60, 6, 50, 7, 40, 5, 30, 6, 20, 7, 10},
	} {
		f.Add(seed, "a")
	}
	f.Fuzz(func(t *testing.T, choices []byte, own string) {
		s := generate.From(choices, own)
		ref := map[string]any{"group": v1alpha1.Group, "kind": "KWOKNodeClass", "name": "default"}
		var generated []map[string]any
		for _, kind := range []string{"NodePool", "NodeOverlay"} {
			content := generate.Object(s, stage().definitions[kind], strings.ToLower(kind), map[string]any{"spec.template.spec.nodeClassRef": ref})
			if len(stage().judge.Check(content)) == 0 {
				generated = append(generated, content)
			}
		}
		plan(t, generated)
	})
}

func plan(t *testing.T, generated []map[string]any) {
	documents := []string{company}
	for _, content := range generated {
		text, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, string(text))
	}
	text := strings.Join(documents, "\n---\n")
	read, err := stage().judge.Read("fuzz", strings.NewReader(text))
	if err != nil {
		t.Fatalf("what the API server lets through cannot be read: %v\n%s", err, text)
	}
	objects := manifest.Expand(read.Objects)
	for _, o := range objects {
		if pool, ok := o.(*v1.NodePool); ok {
			budgets(t, pool)
		}
	}
	result, err := Run(t.Context(), objects, stage().vendor, Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	slices.Reverse(objects)
	if again, err := Run(t.Context(), objects, stage().vendor, Options{}); err != nil || again.Text() != result.Text() {
		t.Errorf("asked again in another order, the answer is different: %v\n%s\n%s\n%s", err, result.Text(), again.Text(), text)
	}
	for _, claim := range result.Claims {
		creatable(t, claim, text)
	}
}

// creatable checks that the API server would admit a claim.
func creatable(t *testing.T, o client.Object, text string) {
	t.Helper()
	raw, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	var content map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &content); err != nil {
		t.Fatal(err)
	}
	content["apiVersion"], content["kind"] = v1.SchemeGroupVersion.String(), "NodeClaim"
	delete(content, "status")
	for _, found := range stage().judge.Check(content) {
		t.Errorf("a claim that cannot be created: %s: %s\n%s\n%s", found.Field, found.Message, raw, text)
	}
}

// budgets checks that evaluating the budgets of a pool returns a valid number or an error.
func budgets(t *testing.T, pool *v1.NodePool) {
	now := time.Date(2026, 2, 28, 23, 59, 59, 0, time.UTC)
	for _, reason := range []v1.DisruptionReason{v1.DisruptionReasonEmpty, v1.DisruptionReasonDrifted, v1.DisruptionReasonUnderutilized} {
		if n, err := pool.AllowedDisruptions(now, 7, reason); n < 0 || err != nil && n != 0 {
			t.Errorf("%d of 7 nodes may go, %v", n, err)
		}
	}
	for i := range pool.Spec.Disruption.Budgets {
		if changes, err := pool.Spec.Disruption.Budgets[i].Changes(now); err == nil && !changes.IsZero() && changes.Before(now) {
			t.Errorf("a budget changes at %v, which is over", changes)
		}
	}
	if pool.Hash() != pool.DeepCopy().Hash() {
		t.Error("the hash is not always the same")
	}
}
