package view

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// Manifests implements Source.
func (v *Views) Manifests(ctx context.Context) ([]byte, error) {
	p, err := v.now(ctx)
	if err != nil {
		return nil, err
	}
	var found []client.Object
	for _, o := range p.state.Objects {
		switch o.(type) {
		case *v1.NodeClaim: // it has conditions, as node classes
		case *v1.NodePool, cloud.NodeClassObject:
			found = append(found, o)
		}
	}
	rank := func(o client.Object) int {
		if _, pool := o.(*v1.NodePool); pool {
			return 0
		}
		return 1
	}
	slices.SortFunc(found, func(a, b client.Object) int {
		return cmp.Or(rank(a)-rank(b), cmp.Compare(kindOf(a), kindOf(b)), cmp.Compare(a.GetName(), b.GetName()))
	})
	var out bytes.Buffer
	for i, o := range found {
		if i > 0 {
			out.WriteString("---\n")
		}
		text, err := manifestOf(o)
		if err != nil {
			return nil, err
		}
		out.Write(text)
	}
	return out.Bytes(), nil
}

func kindOf(o client.Object) string { return o.GetObjectKind().GroupVersionKind().Kind }

// manifestOf is an object as a user would write it: without a status and what the API server adds.
func manifestOf(o client.Object) ([]byte, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, fmt.Errorf("converting %s %q: %w", kindOf(o), o.GetName(), err)
	}
	delete(content, "status")
	meta := map[string]any{"name": o.GetName()}
	if labels, ok, _ := unstructured.NestedMap(content, "metadata", "labels"); ok {
		meta["labels"] = labels
	}
	if annotations := userAnnotations(o); len(annotations) > 0 {
		meta["annotations"] = annotations
	}
	content["metadata"] = meta
	text, err := yaml.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("writing %s %q: %w", kindOf(o), o.GetName(), err)
	}
	return text, nil
}

// userAnnotations are those that neither kubectl nor a controller has set.
func userAnnotations(o client.Object) map[string]any {
	out := map[string]any{}
	for key, value := range o.GetAnnotations() {
		if key != "kubectl.kubernetes.io/last-applied-configuration" && !isHash(key) {
			out[key] = value
		}
	}
	return out
}

// isHash reports whether an annotation is one of those by which controllers notice drift.
func isHash(key string) bool {
	return strings.Contains(key, "-hash")
}
