package v1alpha1_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-anew/karpenter/api/condition"
	"github.com/karpenter-anew/karpenter/api/v1alpha1"
)

// TestZeroValue pins what an overlay made in code looks like on the wire when nothing is filled in.
func TestZeroValue(t *testing.T) {
	got, err := json.Marshal(v1alpha1.NodeOverlay{})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"metadata":{},"spec":{"requirements":null},"status":{}}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestManifestRoundTrip checks that a manifest comes back as it was written: above all, that a price stays the text it
// was.
func TestManifestRoundTrip(t *testing.T) {
	const manifest = `
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata:
  name: cheap
spec:
  capacity:
    example.com/device: "5"
  price: "1.50"
  priceAdjustment: -0.50%
  requirements:
  - key: karpenter.sh/nodepool
    operator: NotIn
    values:
    - general
  weight: 10000
status: {}
`
	overlay := &v1alpha1.NodeOverlay{}
	if err := yaml.UnmarshalStrict([]byte(manifest), overlay); err != nil {
		t.Fatal(err)
	}
	got, err := yaml.Marshal(overlay.DeepCopy())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(manifest[1:], string(got)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestReadyFollowsValidation checks that an overlay is known under its name and is ready once it is valid.
func TestReadyFollowsValidation(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if !scheme.Recognizes(v1alpha1.SchemeGroupVersion.WithKind("NodeOverlayList")) {
		t.Error("the list is not known")
	}
	object, err := scheme.New(v1alpha1.SchemeGroupVersion.WithKind("NodeOverlay"))
	if err != nil {
		t.Fatal(err)
	}
	overlay := object.(*v1alpha1.NodeOverlay)
	set := condition.For(overlay, time.Unix(0, 0))
	set.False(v1alpha1.ConditionTypeValidationSucceeded, "RuntimeValidation", "")
	if reason := set.Root().Reason; set.IsTrue() || reason != condition.ReasonUnhealthyDependents {
		t.Errorf("ready although invalid, for the reason %s", reason)
	}
	set.True(v1alpha1.ConditionTypeValidationSucceeded)
	if !set.IsTrue() {
		t.Errorf("not ready although valid: %v", overlay.Status.Conditions)
	}
}
