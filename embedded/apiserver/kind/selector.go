package kind

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
)

func decodeSelector(content map[string]any) (*metav1.LabelSelector, error) {
	out := &metav1.LabelSelector{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, out); err != nil {
		return nil, fmt.Errorf("reading a label selector: %w", err)
	}
	return out, nil
}

// CheckFields returns an error if a field selector names a field that the kind does not select by.
func (k *Kind) CheckFields(selector fields.Selector) error {
	for _, r := range selector.Requirements() {
		namespace := r.Field == "metadata.namespace" && k.Namespaced
		if r.Field == "metadata.name" || namespace || r.Field == "metadata.namespace" && k.New != nil || slices.Contains(k.Fields, r.Field) {
			continue
		}
		if k.New != nil && len(k.Fields) == 0 {
			return fmt.Errorf("%q is not a known field selector: only \"metadata.name\", \"metadata.namespace\"", r.Field)
		}
		return fmt.Errorf("field label not supported: %s", r.Field)
	}
	return nil
}

// MatchesFields tells whether a field selector selects an object.
func (k *Kind) MatchesFields(object *unstructured.Unstructured, selector fields.Selector) bool {
	if selector.Empty() {
		return true
	}
	set := fields.Set{"metadata.name": object.GetName(), "metadata.namespace": object.GetNamespace()}
	for _, path := range k.Fields {
		value, ok, _ := unstructured.NestedFieldNoCopy(object.Object, strings.Split(path, ".")...)
		if path == "source" && k.Kind == "Event" {
			if value, ok, _ = unstructured.NestedFieldNoCopy(object.Object, "source", "component"); !ok {
				value, ok, _ = unstructured.NestedFieldNoCopy(object.Object, "reportingComponent")
			}
		}
		switch {
		case ok && value != nil:
			set[path] = fmt.Sprint(value)
		case path == "spec.unschedulable", path == "spec.hostNetwork":
			set[path] = "false"
		case path == "status.replicas":
			set[path] = "0"
		default:
			set[path] = ""
		}
	}
	return selector.Matches(set)
}
