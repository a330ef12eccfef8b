package front

import (
	"fmt"
	"maps"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// includes is which part of the objects the rows of a table have: None, Metadata (the default) or
// Object. It is false for something else.
func includes(req *http.Request) (metav1.IncludeObjectPolicy, bool) {
	switch policy := metav1.IncludeObjectPolicy(req.URL.Query().Get("includeObject")); policy {
	case "":
		return metav1.IncludeMetadata, true
	case metav1.IncludeNone, metav1.IncludeMetadata, metav1.IncludeObject:
		return policy, true
	default:
		return policy, false
	}
}

// shaped turns objects into a table, or into their metadata. Other answers stay as they are.
func shaped(t target, value any, wants form, now time.Time, include metav1.IncludeObjectPolicy) (any, error) {
	objects, list := items(value)
	if objects == nil {
		return value, nil
	}
	if wants == metadata || wants == metadataList {
		if err := t.metadataForm(wants, list != nil); err != nil {
			return nil, err
		}
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
			printed.Rows[i].Object = runtime.RawExtension{}
		}
	}
	if printed.Rows == nil {
		printed.Rows = []metav1.TableRow{}
	}
	return printed, nil
}

// metadataForm: the metadata of an object is asked for under another name than that of a list.
func (t target) metadataForm(wants form, list bool) error {
	if list == (wants == metadataList) {
		return nil
	}
	typeName := "*unstructured.Unstructured"
	if t.kind.New != nil {
		typeName = "*" + t.kind.InternalGroup() + "." + t.kind.Kind
	}
	asked, what := "PartialObjectMetadataList", "not a list"
	if list {
		asked, what, typeName = "PartialObjectMetadata", "a list", typeName+"List"
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotAcceptable, Reason: metav1.StatusReasonNotAcceptable,
		Message: fmt.Sprintf("you requested %s, but the requested object is %s (%s)", asked, what, typeName),
	}}
}

func partial(object *unstructured.Unstructured) map[string]any {
	return map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": object.Object["metadata"]}
}
