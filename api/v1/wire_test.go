package v1_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// TestZeroValues pins what objects made in code look like on the wire when nothing is filled in.
func TestZeroValues(t *testing.T) {
	for want, object := range map[string]any{
		`{"metadata":{},"spec":{"template":{"spec":{"requirements":null,"nodeClassRef":null,"expireAfter":"Never"}},` +
			`"disruption":{"consolidateAfter":"Never"}},"status":{"nodes":null}}`: v1.NodePool{},
		`{"metadata":{},"spec":{"requirements":null,"nodeClassRef":null,"expireAfter":"Never"},"status":{}}`: v1.NodeClaim{},
	} {
		got, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%T (-want +got)\n%s", object, diff)
		}
	}
}

// TestManifestRoundTrip checks that a manifest comes back as it was written, empty lists and maps included: each of
// them means something else than its absence.
func TestManifestRoundTrip(t *testing.T) {
	const manifest = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: general
spec:
  disruption:
    budgets:
    - duration: 8h0m0s
      nodes: "0"
      reasons: []
      schedule: 0 9 * * mon-fri
    consolidateAfter: 90s
    consolidationPolicy: Balanced
  limits: {}
  replicas: 3
  template:
    metadata:
      annotations: {}
      labels: {}
    spec:
      expireAfter: 43200m
      nodeClassRef:
        group: karpenter.kwok.sh
        kind: KWOKNodeClass
        name: default
      requirements:
      - key: example.com/size
        minValues: 2
        operator: In
        values:
        - big
        - small
      startupTaints: []
      taints:
      - effect: NoSchedule
        key: dedicated
      terminationGracePeriod: 0s
status:
  nodes: 0
`
	pool := &v1.NodePool{}
	if err := yaml.UnmarshalStrict([]byte(manifest), pool); err != nil {
		t.Fatal(err)
	}
	got, err := yaml.Marshal(pool.DeepCopy())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(manifest[1:], string(got)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestScheme checks that both kinds and their lists are known under their names, and have conditions.
func TestScheme(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"NodePool", "NodePoolList", "NodeClaim", "NodeClaimList"} {
		object, err := scheme.New(v1.SchemeGroupVersion.WithKind(kind))
		if err != nil {
			t.Fatal(err)
		}
		if _, isList := object.(metav1.ListInterface); isList {
			continue
		}
		if _, ok := object.(condition.Object); !ok {
			t.Errorf("%s has no conditions", kind)
		}
	}
}
