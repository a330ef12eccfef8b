package v1alpha1_test

import (
	"encoding/json"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/karpenter-anew/karpenter/api/condition"
	"github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
)

// TestZeroValue checks that an empty class leaves its status out, so that the API server fills in that it is ready.
func TestZeroValue(t *testing.T) {
	got, err := json.Marshal(v1alpha1.KWOKNodeClass{})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"metadata":{},"spec":{}}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestReadyHasNoDependents checks that the one condition can be set directly.
func TestReadyHasNoDependents(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	object, err := scheme.New(v1alpha1.SchemeGroupVersion.WithKind("KWOKNodeClass"))
	if err != nil {
		t.Fatal(err)
	}
	class := object.(*v1alpha1.KWOKNodeClass)
	set := condition.For(class, time.Unix(0, 0))
	set.False(v1alpha1.ConditionTypeReady, "Broken", "")
	if set.Root().Reason != "Broken" || set.IsTrue() {
		t.Errorf("conditions %v", class.Status.Conditions)
	}
}
