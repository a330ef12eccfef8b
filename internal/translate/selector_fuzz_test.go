package translate

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// FuzzSelectors checks that a label selector that the API server accepts selects the pods that Kubernetes says it does, and that an invalid one
// selects none.
func FuzzSelectors(f *testing.F) {
	for _, seed := range []struct{ selector, labels string }{
		{`null`, `{}`},
		{`{}`, `{"a":"b"}`},
		{`{"matchLabels":{"a":"b"}}`, `{"a":"b","c":"d"}`},
		{`{"matchLabels":{"a":""}}`, `{"a":""}`},
		{`{"matchExpressions":[{"key":"a","operator":"NotIn","values":["b"]}]}`, `{}`},
		{`{"matchExpressions":[{"key":"a","operator":"Exists"},{"key":"a","operator":"In","values":["b","c"]}]}`, `{"a":"c"}`},
		{`{"matchLabels":{"a":"1"},"matchExpressions":[{"key":"a","operator":"NotIn","values":["1"]}]}`, `{"a":"1"}`},
		{`{"matchExpressions":[{"key":"a","operator":"DoesNotExist"},{"key":"a","operator":"NotIn","values":["x"]}]}`, `{"b":"1"}`},
		{`{"matchExpressions":[{"key":"a","operator":"Gt","values":["1"]}]}`, `{"a":"2"}`},
		{`{"matchExpressions":[{"key":"kubernetes.io/arch","operator":"In","values":["amd64"]}]}`, `{"beta.kubernetes.io/arch":"amd64"}`},
		{`{"matchExpressions":[{"key":"-","operator":"NotIn","values":["x"]}]}`, `{}`},
	} {
		f.Add([]byte(seed.selector), []byte(seed.labels))
	}
	f.Fuzz(func(t *testing.T, selectorText, labelText []byte) {
		var selector *metav1.LabelSelector
		var of map[string]string
		if json.Unmarshal(selectorText, &selector) != nil || json.Unmarshal(labelText, &of) != nil || !validLabels(of) {
			return
		}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Labels: of}, Spec: corev1.PodSpec{
			TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: selector}},
		}}
		want := false
		parsed, err := metav1.LabelSelectorAsSelector(selector)
		if errs := validation.ValidateLabelSelector(selector, validation.LabelSelectorValidationOptions{}, field.NewPath("selector")); len(errs) == 0 {
			if err != nil {
				t.Fatalf("%s is valid and cannot be parsed: %v", selectorText, err)
			}
			want = parsed.Matches(labels.Set(of))
		} else if err == nil {
			return // the API server accepts fewer selectors than can be parsed
		}
		spreads := New(v1.CoreLabelRules()).Pod(pod).Shape.Spreads
		if len(spreads) != 1 {
			t.Fatalf("%d spreads", len(spreads))
		}
		if got := spreads[0].Selector.Matches(of); got != want {
			t.Errorf("selector %s, labels %s: selected %t, want %t", selectorText, labelText, got, want)
		}
	})
}

func validLabels(of map[string]string) bool {
	for key, value := range of {
		if len(utilvalidation.IsQualifiedName(key))+len(utilvalidation.IsValidLabelValue(value)) > 0 {
			return false
		}
	}
	return true
}
