package v1beta1_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karpenter-anew/karpenter/api/azure/v1alpha2"
	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/api/condition"
)

// TestZeroValue pins what a class made in code looks like on the wire when nothing is filled in.
func TestZeroValue(t *testing.T) {
	for _, object := range []any{v1beta1.AKSNodeClass{}, v1alpha2.AKSNodeClass{}} {
		got, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		if want := `{"metadata":{},"spec":{}}`; string(got) != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	got, err := json.Marshal(v1beta1.AKSNodeClassSpec{
		Kubelet:  &v1beta1.KubeletConfiguration{},
		LocalDNS: &v1beta1.LocalDNS{KubeDNSOverrides: []v1beta1.LocalDNSZoneOverride{{}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"kubelet":{},"localDNS":{"kubeDNSOverrides":[{"zone":""}]}}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestScheme checks that both versions can be decoded.
func TestScheme(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1beta1.AddToScheme, v1alpha2.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	for _, version := range []string{"v1beta1", "v1alpha2"} {
		for _, kind := range []string{"AKSNodeClass", "AKSNodeClassList"} {
			if !scheme.Recognizes(schema.GroupVersionKind{Group: v1beta1.Group, Version: version, Kind: kind}) {
				t.Errorf("%s %s is not in the scheme", version, kind)
			}
		}
	}
}

// TestReady checks which conditions make a class ready, and how the others are reported.
func TestReady(t *testing.T) {
	t.Attr("covers", "Z188")
	class := &v1beta1.AKSNodeClass{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
	set := condition.For(class, time.Unix(0, 0))
	ready := func(status metav1.ConditionStatus, reason, message string) {
		t.Helper()
		got := set.Root()
		if got.Status != status || got.Reason != reason || got.Message != message {
			t.Errorf("Ready is %s, %s, %q, want %s, %s, %q", got.Status, got.Reason, got.Message, status, reason, message)
		}
	}
	ready(metav1.ConditionUnknown, "AwaitingReconciliation", "object is awaiting reconciliation")
	set.True(v1beta1.ConditionTypeKubernetesVersionReady)
	set.True(v1beta1.ConditionTypeValidationSucceeded)
	set.True(v1beta1.ConditionTypeLocalDNSReady)
	ready(metav1.ConditionUnknown, "ReconcilingDependents", "ImagesReady=Unknown, SubnetsReady=Unknown")
	set.False(v1beta1.ConditionTypeImagesReady, v1beta1.ReasonImagesNotFound, "none")
	ready(metav1.ConditionFalse, "UnhealthyDependents", "ImagesReady=False, SubnetsReady=Unknown")
	set.True(v1beta1.ConditionTypeImagesReady)
	set.True(v1beta1.ConditionTypeSubnetsReady)
	ready(metav1.ConditionTrue, "Ready", "")
	if len(class.Status.Conditions) != 6 {
		t.Errorf("conditions %v", class.Status.Conditions)
	}
	class.Generation++
	set.True(v1beta1.ConditionTypeSubnetsReady)
	if got := set.Root().Reason; got != "ReconcilingDependents" {
		t.Errorf("with conditions of an earlier generation, the reason is %s", got)
	}
}

// TestStatusOfTheCurrentGeneration checks that the version and the images are refused unless their conditions hold for the current
// generation.
func TestStatusOfTheCurrentGeneration(t *testing.T) {
	t.Attr("covers", "Z020 Z021")
	images := []v1beta1.NodeImage{{ID: "image-1"}}
	ready := func(conditionType string, status metav1.ConditionStatus, generation int64) []metav1.Condition {
		return []metav1.Condition{{Type: conditionType, Status: status, ObservedGeneration: generation, Message: "why"}}
	}
	for _, test := range []struct {
		name       string
		conditions func(conditionType string) []metav1.Condition
		because    string
	}{
		{"current", func(c string) []metav1.Condition { return ready(c, metav1.ConditionTrue, 3) }, ""},
		{"of an earlier generation", func(c string) []metav1.Condition { return ready(c, metav1.ConditionTrue, 2) }, "is of generation 2, the class is of generation 3"},
		{"False", func(c string) []metav1.Condition { return ready(c, metav1.ConditionFalse, 3) }, "is False: why"},
		{"Unknown", func(c string) []metav1.Condition { return ready(c, metav1.ConditionUnknown, 3) }, "is Unknown: why"},
		{"missing", func(string) []metav1.Condition { return ready("Ready", metav1.ConditionTrue, 3) }, "is missing"},
	} {
		t.Run(test.name, func(t *testing.T) {
			class := &v1beta1.AKSNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default", Generation: 3}}
			class.Status.KubernetesVersion, class.Status.Images = "1.34.1", images
			check := func(err error, because string) {
				t.Helper()
				if (err == nil) != (because == "") || err != nil && !strings.Contains(err.Error(), because) {
					t.Errorf("error %v, want %q", err, because)
				}
			}
			class.Status.Conditions = test.conditions(v1beta1.ConditionTypeKubernetesVersionReady)
			version, err := class.CurrentKubernetesVersion()
			check(err, test.because)
			if (err == nil) != (version == "1.34.1") {
				t.Errorf("version %q with error %v", version, err)
			}
			class.Status.Conditions = test.conditions(v1beta1.ConditionTypeImagesReady)
			got, err := class.CurrentImages()
			check(err, test.because)
			if (err == nil) != cmp.Equal(images, got) {
				t.Errorf("images %v with error %v", got, err)
			}
		})
	}
	class := &v1beta1.AKSNodeClass{}
	class.Status.Conditions = append(ready(v1beta1.ConditionTypeKubernetesVersionReady, metav1.ConditionTrue, 0), ready(v1beta1.ConditionTypeImagesReady, metav1.ConditionTrue, 0)...)
	if _, err := class.CurrentKubernetesVersion(); err == nil || !strings.Contains(err.Error(), "status.kubernetesVersion is empty") {
		t.Errorf("an empty version: %v", err)
	}
	if got, err := class.CurrentImages(); err != nil || len(got) != 0 {
		t.Errorf("an empty list of images: %v, %v", got, err)
	}
}
