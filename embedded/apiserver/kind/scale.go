package kind

import (
	"fmt"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Scale returns the kind of the subresource scale. It is not stored: its fields are those of the object that is scaled.
func Scale() (*Kind, error) {
	gv := autoscalingv1.SchemeGroupVersion
	k := &Kind{
		GroupVersionKind: gv.WithKind("Scale"), ListKind: "ScaleList", Plural: "scale", Singular: "scale", Namespaced: true, Storage: gv,
		New: func() runtime.Object { return &autoscalingv1.Scale{} },
	}
	k.decode = func(content map[string]any) (map[string]any, []string, error) { return k.decodeTyped(content, nil) }
	k.typed = managedfields.NewDeducedTypeConverter() // client-go has no schema of scales
	m, err := managedfields.NewDefaultCRDFieldManager(k.typed, oneVersion{}, noDefaults{}, creator{}, k.GroupVersionKind, gv, "scale", nil)
	if err != nil {
		return nil, fmt.Errorf("tracking the fields of scales: %w", err)
	}
	k.updates = managers{m}
	return k, nil
}

// ScaleOwners returns the managed fields of the scale of an object of the kind, and what turns changed ones into those of the object.
func (k *Kind) ScaleOwners(entries []metav1.ManagedFieldsEntry) ([]metav1.ManagedFieldsEntry, func([]metav1.ManagedFieldsEntry) ([]metav1.ManagedFieldsEntry, error), error) {
	var parts []any
	for _, name := range strings.Split(strings.TrimPrefix(k.Scale.Replicas, "."), ".") {
		parts = append(parts, name)
	}
	paths := managedfields.ResourcePathMappings{k.GroupVersion().String(): fieldpath.MakePathOrDie(parts...)}
	if storage := (schema.GroupVersion{Group: k.Group, Version: k.Storage.Version}).String(); k.New == nil {
		paths[storage] = fieldpath.MakePathOrDie(parts...)
	}
	handler := managedfields.NewScaleHandler(entries, k.GroupVersion(), paths)
	own, err := handler.ToSubresource()
	if err != nil {
		return nil, nil, fmt.Errorf("reading the managed fields of a scale: %w", err)
	}
	return own, handler.ToParent, nil
}
