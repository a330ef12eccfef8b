package v1beta1_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-anew/karpenter/api/autoscaling/v1beta1"
	"github.com/karpenter-anew/karpenter/api/condition"
)

// TestZeroValue pins what a buffer made in code looks like on the wire when nothing is filled in.
func TestZeroValue(t *testing.T) {
	got, err := json.Marshal(v1beta1.CapacityBuffer{})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"metadata":{},"spec":{},"status":{}}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestManifestRoundTrip checks that a manifest comes back as it was written: zeros and empty limits mean something else
// than their absence, and without its limits this buffer would be refused.
func TestManifestRoundTrip(t *testing.T) {
	const manifest = `
apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityBuffer
metadata:
  name: spare
  namespace: shop
spec:
  limits: {}
  percentage: 0
  podTemplateRef:
    name: chunk
  provisioningStrategy: ""
  replicas: 0
  scalableRef:
    apiGroup: apps
    kind: Deployment
    name: web
status:
  podTemplateGeneration: 0
  podTemplateRef:
    name: chunk
  provisioningStrategy: ""
  replicas: 0
`
	buffer := &v1beta1.CapacityBuffer{}
	if err := yaml.UnmarshalStrict([]byte(manifest), buffer); err != nil {
		t.Fatal(err)
	}
	got, err := yaml.Marshal(buffer.DeepCopy())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(manifest[1:], string(got)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestScheme checks that buffers are known under their name, and that the engine for conditions with a root, which they
// do not have, cannot be used on them by mistake.
func TestScheme(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1beta1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if !scheme.Recognizes(v1beta1.SchemeGroupVersion.WithKind("CapacityBufferList")) {
		t.Error("the list is not known")
	}
	object, err := scheme.New(v1beta1.SchemeGroupVersion.WithKind("CapacityBuffer"))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := object.(condition.Object); ok {
		t.Error("a buffer has conditions with a root")
	}
}
