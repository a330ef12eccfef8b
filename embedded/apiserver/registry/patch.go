package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// Patch changes an object, or its status, by a patch of one of the types of Kubernetes, and returns the new state. Server-side apply creates
// an object that is missing; created tells.
func (r *Registry) Patch(req *Request, kind types.PatchType, patch []byte) (object *unstructured.Unstructured, created bool, err error) {
	if kind == types.ApplyYAMLPatchType || kind == types.ApplyCBORPatchType {
		return r.apply(req, kind, patch)
	}
	if req.Force {
		return nil, false, apierrors.NewInvalid(metav1.SchemeGroupVersion.WithKind("PatchOptions").GroupKind(), "", nil)
	}
	live, err := r.Get(req)
	if err != nil {
		return nil, false, err
	}
	content, err := patched(req, live, kind, patch)
	if err != nil {
		return nil, false, err
	}
	object, unknown, err := req.Kind.Decode(content)
	if err != nil {
		return nil, false, apierrors.NewBadRequest(err.Error())
	}
	if err := req.unknown(unknown); err != nil {
		return nil, false, apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{
			field.Invalid(field.NewPath("patch"), content, "strict decoding error: "+strings.Join(unknown, ", ")),
		})
	}
	if err := req.named(object); err != nil {
		return nil, false, err
	}
	object, err = r.replace(req, live, object, true)
	return object, false, err
}

// patched is the content of the live object after the patch.
func patched(req *Request, live *unstructured.Unstructured, kind types.PatchType, patch []byte) (map[string]any, error) {
	before, err := json.Marshal(live.Object)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	var after []byte
	switch kind {
	case types.JSONPatchType:
		parsed, err := jsonpatch.DecodePatch(patch)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		if after, err = parsed.Apply(before); err != nil {
			return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
		}
	case types.MergePatchType:
		if after, err = jsonpatch.MergePatch(before, patch); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
	case types.StrategicMergePatchType:
		if req.Kind.New == nil {
			err := unsupportedPatch(types.JSONPatchType, types.MergePatchType, types.ApplyYAMLPatchType)
			err.ErrStatus.Details = nil
			return nil, err
		}
		var changes map[string]any
		if err := decodeJSON(patch, &changes); err != nil {
			return nil, err
		}
		out, err := strategicpatch.StrategicMergeMapPatch(runtime.DeepCopyJSON(live.Object), changes, req.Kind.New())
		if err != nil {
			return nil, patchError(err)
		}
		return out, nil
	default:
		return nil, unsupportedPatch(types.JSONPatchType, types.MergePatchType, types.StrategicMergePatchType, types.ApplyYAMLPatchType)
	}
	var out map[string]any
	return out, decodeJSON(after, &out)
}

// patchError is the answer to a strategic merge patch that cannot be applied.
func patchError(err error) error {
	for _, malformed := range []error{
		mergepatch.ErrBadJSONDoc, mergepatch.ErrBadPatchFormatForPrimitiveList, mergepatch.ErrBadPatchFormatForRetainKeys,
		mergepatch.ErrBadPatchFormatForSetElementOrderList, mergepatch.ErrUnsupportedStrategicMergePatchFormat,
	} {
		if errors.Is(err, malformed) {
			return apierrors.NewBadRequest(err.Error())
		}
	}
	return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
}

// unsupportedPatch is the answer to a patch of a type that the kind does not take.
func unsupportedPatch(accepted ...types.PatchType) *apierrors.StatusError {
	var names []string
	for _, a := range accepted {
		names = append(names, string(a))
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnsupportedMediaType, Reason: metav1.StatusReasonUnsupportedMediaType,
		Details: &metav1.StatusDetails{},
		Message: fmt.Sprintf("the body of the request was in an unknown format - accepted media types include: %s", strings.Join(names, ", ")),
	}}
}

func decodeJSON(data []byte, into *map[string]any) error {
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, into); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	return nil
}

// apply is server-side apply.
func (r *Registry) apply(req *Request, kind types.PatchType, patch []byte) (*unstructured.Unstructured, bool, error) {
	if kind == types.ApplyCBORPatchType {
		return nil, false, unsupportedPatch(types.ApplyYAMLPatchType)
	}
	if req.Manager == "" {
		return nil, false, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "PatchOptions"}, "", field.ErrorList{
			field.Required(field.NewPath("fieldManager"), "is required for apply patch"),
		})
	}
	applied, err := readApplied(req, patch)
	if err != nil {
		return nil, false, err
	}
	live, err := r.Get(req)
	missing := apierrors.IsNotFound(err)
	switch {
	case missing && req.Subresource != "":
		return nil, false, err
	case missing:
		live = &unstructured.Unstructured{Object: identified(req.Kind, map[string]any{})}
	case err != nil:
		return nil, false, err
	}
	if version := applied.GetResourceVersion(); version != "" && version != live.GetResourceVersion() {
		return nil, false, conflict(req.Kind.Resource(), req.Name)
	}
	merged, err := req.Kind.Apply(live.DeepCopy(), applied, req.Manager, req.Force, req.status(), r.options.Now())
	if err != nil {
		var status *apierrors.StatusError
		if errors.As(err, &status) {
			return nil, false, status
		}
		return nil, false, unnamed(err)
	}
	object, _, err := req.Kind.Decode(merged.Object)
	if err != nil {
		return nil, false, apierrors.NewBadRequest(err.Error())
	}
	if req.Kind.Namespaced {
		object.SetNamespace(req.Namespace)
	}
	if missing {
		object.SetUID("")
		object, err = r.create(req, object)
		return object, true, err
	}
	object, err = r.replace(req, live, object, false)
	return object, false, err
}

// readApplied reads an applied configuration and checks that it is for the object of the path.
func readApplied(req *Request, patch []byte) (*unstructured.Unstructured, error) {
	raw, err := yaml.YAMLToJSON(patch)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding YAML: %v", err))
	}
	var content map[string]any
	if err := decodeJSON(raw, &content); err != nil {
		return nil, err
	}
	applied := &unstructured.Unstructured{Object: content}
	if applied.GroupVersionKind() != req.Kind.GroupVersionKind {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("invalid object type: %v", applied.GroupVersionKind()))
	}
	if len(applied.GetManagedFields()) > 0 {
		return nil, apierrors.NewBadRequest("metadata.managedFields must be nil")
	}
	if applied.GetName() == "" {
		applied.SetName(req.Name)
	}
	// Fields that the kind does not have are errors of the merge.
	checked := applied.DeepCopy()
	return applied, req.named(checked)
}

// unnamed is an error without a reason, as kube-apiserver returns errors of its libraries.
func unnamed(err error) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: err.Error()}}
}
