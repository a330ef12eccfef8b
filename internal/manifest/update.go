package manifest

import (
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Updating returns a reader of manifests that are applied to a cluster with these objects: what the API server refuses as an update is an error, such
// as replicas for a NodePool that was created without.
//
// Source: Kubernetes documentation, "Extend the Kubernetes API with CustomResourceDefinitions", transition rules.
func (r *Reader) Updating(objects []client.Object) *Reader {
	out := *r
	out.stored = map[string]client.Object{}
	for _, o := range objects {
		if _, ours := r.schemas[o.GetObjectKind().GroupVersionKind().String()]; ours {
			out.stored[describe(o)] = o
		}
	}
	return &out
}

// before is the stored object that content updates; nil if there is none.
func (r *Reader) before(o client.Object, gvk runtimeschema.GroupVersionKind, content map[string]any) any {
	if r.stored == nil {
		return nil
	}
	metadata, _ := content["metadata"].(map[string]any)
	named, ok := o.DeepCopyObject().(client.Object)
	if !ok {
		return nil
	}
	named.SetName(text(metadata, "name"))
	named.SetNamespace(text(metadata, "namespace"))
	r.identify(named, gvk)
	stored, ok := r.stored[describe(named)]
	if !ok {
		return nil
	}
	old, err := runtime.DefaultUnstructuredConverter.ToUnstructured(stored)
	if err != nil {
		return nil // the object has been read, and can be written
	}
	return old
}
