package front

import (
	"fmt"
	"maps"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// includes is which part of the objects the rows of a table have: None, Metadata (the default) or Object.
func includes(req *http.Request) metav1.IncludeObjectPolicy {
	if policy := req.URL.Query().Get("includeObject"); policy != "" {
		return metav1.IncludeObjectPolicy(policy)
	}
	return metav1.IncludeMetadata
}

// shaped turns objects into a table, or into their metadata. Other answers stay as they are.
func shaped(t target, value any, wants form, now time.Time, include metav1.IncludeObjectPolicy) (any, error) {
	objects, list := items(value)
	if objects == nil {
		return value, nil
	}
	if wants == metadata {
		if list == nil {
			return partial(objects[0]), nil
		}
		meta, _ := list.Object["metadata"].(map[string]any)
		if meta = maps.Clone(meta); meta["continue"] == "" {
			delete(meta, "continue")
		}
		out := map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList", "metadata": meta}
		var parts []any
		for _, object := range objects {
			parts = append(parts, partial(object))
		}
		out["items"] = parts
		return out, nil
	}
	printed, err := t.kind.Table(objects, now)
	if err != nil {
		return nil, fmt.Errorf("printing %s: %w", t.resource.Resource, err)
	}
	printed.TypeMeta = metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "Table"}
	if list != nil {
		printed.ListMeta = metav1.ListMeta{ResourceVersion: list.GetResourceVersion(), Continue: list.GetContinue(), RemainingItemCount: list.GetRemainingItemCount()}
	} else {
		printed.ResourceVersion = objects[0].GetResourceVersion()
	}
	for i, object := range objects {
		switch include {
		case metav1.IncludeMetadata:
			printed.Rows[i].Object = runtime.RawExtension{Object: &unstructured.Unstructured{Object: partial(object)}}
		case metav1.IncludeObject:
			printed.Rows[i].Object = runtime.RawExtension{Object: object}
		case metav1.IncludeNone:
		}
	}
	if printed.Rows == nil {
		printed.Rows = []metav1.TableRow{}
	}
	return printed, nil
}

func partial(object *unstructured.Unstructured) map[string]any {
	return map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": object.Object["metadata"]}
}
