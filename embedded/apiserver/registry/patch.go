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

	"github.com/karpenter-anew/karpenter/embedded/apiserver/kind"
)

// Patch changes an object, or its status, by a patch of one of the types of Kubernetes, and returns the new state. Server-side apply creates
// an object that is missing; created tells.
func (r *Registry) Patch(req *Request, patchType types.PatchType, patch []byte) (object *unstructured.Unstructured, created bool, err error) {
	if patchType == types.ApplyYAMLPatchType || patchType == types.ApplyCBORPatchType {
		return r.apply(req, patchType, patch)
	}
	if req.Force {
		return nil, false, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "PatchOptions"}, "", field.ErrorList{
			field.Forbidden(field.NewPath("force"), "may not be specified for non-apply patch"),
		})
	}
	live, err := r.Get(req)
	if err != nil {
		return nil, false, err
	}
	content, shown, err := patched(req, live, patchType, patch)
	if err != nil {
		return nil, false, err
	}
	invalid := func(problem string) error {
		return apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath("patch"), shown, problem)})
	}
	if err := req.ofKind(&unstructured.Unstructured{Object: content}); err != nil {
		return nil, false, invalid(err.Error())
	}
	object, unknown, err := req.Kind.Decode(content)
	if err != nil {
		return nil, false, invalid(decodeProblem(req.Kind, patchType, content, err).Error())
	}
	unknown = append(duplicates(patchType, patch), unknown...)
	if err := req.unknown(unknown); err != nil {
		return nil, false, invalid("strict decoding error: " + strings.Join(unknown, ", "))
	}
	if err := req.named(object); err != nil {
		return nil, false, err
	}
	req.uniqueOwners(object, " after mutating admission happens")
	object, err = r.replace(req, live, object, true)
	return object, false, err
}

// decodeProblem is why a patched object cannot be read, as kube-apiserver says it: the error of the JSON library, or that of the converter for
// strategic merge patches.
func decodeProblem(k *kind.Kind, patchType types.PatchType, content map[string]any, err error) error {
	if k.New == nil {
		return err
	}
	if patchType == types.StrategicMergePatchType {
		if raw := runtime.DefaultUnstructuredConverter.FromUnstructured(content, k.New()); raw != nil {
			return raw
		}
	}
	if inner := errors.Unwrap(err); inner != nil {
		return inner // without the kind
	}
	return err
}

// duplicates are the fields that are twice in a patch, as problems of field validation.
func duplicates(patchType types.PatchType, patch []byte) []string {
	var value any
	strict, err := kjson.UnmarshalStrict(patch, &value, kjson.DisallowDuplicateFields)
	if err != nil {
		return nil // the patch was read before
	}
	var out []string
	for _, problem := range strict {
		text := problem.Error()
		if patchType == types.JSONPatchType {
			text = "json patch " + text
		}
		out = append(out, text)
	}
	return out
}

// patched is the content of the live object after the patch, and how errors show it.
func patched(req *Request, live *unstructured.Unstructured, patchType types.PatchType, patch []byte) (map[string]any, string, error) {
	before, err := encoded(req.Kind, live)
	if err != nil {
		return nil, "", apierrors.NewInternalError(err)
	}
	var after []byte
	switch patchType {
	case types.JSONPatchType:
		after, err = patchedByOperations(before, patch)
	case types.MergePatchType:
		after, err = mergedPatch(before, patch)
	case types.StrategicMergePatchType:
		return strategicallyPatched(req.Kind, live, patch)
	default:
		return nil, "", unsupportedMedia()
	}
	if err != nil {
		return nil, "", err
	}
	var out map[string]any
	return out, string(after), decodeJSON(after, &out)
}

// encoded is the JSON of an object as kube-apiserver encodes it: with the fields of built-in kinds in the order of their types.
func encoded(k *kind.Kind, object *unstructured.Unstructured) ([]byte, error) {
	if k.New == nil {
		return json.Marshal(object.Object) //nolint:wrapcheck // the caller answers with an internal error
	}
	typed := k.New()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, typed); err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", k.Plural, object.GetName(), err)
	}
	return json.Marshal(typed) //nolint:wrapcheck // see above
}

func patchedByOperations(before, patch []byte) ([]byte, error) {
	parsed, err := jsonpatch.DecodePatch(patch)
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: json: cannot unmarshal %s into Go value of type []handlers.jsonPatchOp", mismatch.Value))
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	after, err := parsed.Apply(before)
	if err != nil {
		return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
	}
	return after, nil
}

func mergedPatch(before, patch []byte) ([]byte, error) {
	changes := map[string]any{}
	var mismatch *json.UnmarshalTypeError
	if err := json.Unmarshal(patch, &changes); errors.As(err, &mismatch) {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
	} else if err != nil {
		return nil, apierrors.NewBadRequest("invalid JSON patch")
	}
	after, err := jsonpatch.MergePatch(before, patch)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return after, nil
}

func strategicallyPatched(k *kind.Kind, live *unstructured.Unstructured, patch []byte) (map[string]any, string, error) {
	if k.New == nil {
		err := unsupportedPatch(types.JSONPatchType, types.MergePatchType, types.ApplyYAMLPatchType)
		err.ErrStatus.Details = nil
		return nil, "", err
	}
	var changes map[string]any
	if !json.Valid(patch) {
		return nil, "", apierrors.NewBadRequest("invalid JSON patch")
	}
	if err := decodeJSON(patch, &changes); err != nil {
		return nil, "", err
	}
	shown := fmt.Sprintf("%+v", changes)
	out, err := strategicpatch.StrategicMergeMapPatch(runtime.DeepCopyJSON(live.Object), changes, k.New())
	if err != nil {
		return nil, "", patchError(err)
	}
	return out, shown, nil
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
	if errors.Is(err, mergepatch.ErrNoListOfLists) {
		return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
	}
	return unnamed(err)
}

// unsupportedMedia is the answer to a patch of a type that no kind takes.
func unsupportedMedia() error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnsupportedMediaType, Reason: metav1.StatusReasonUnsupportedMediaType,
		Details: &metav1.StatusDetails{}, Message: "415: Unsupported Media Type",
	}}
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
func (r *Registry) apply(req *Request, patchType types.PatchType, patch []byte) (*unstructured.Unstructured, bool, error) {
	if patchType == types.ApplyCBORPatchType {
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
	if version := applied.GetResourceVersion(); !missing && version != "" && version != live.GetResourceVersion() {
		return nil, false, conflict(req.Kind.Resource(), req.Name)
	}
	merged, err := req.Kind.Apply(live.DeepCopy(), applied, req.Manager, req.Force, req.status(), r.options.Now())
	if err != nil {
		return nil, false, applyError(err)
	}
	object, _, err := req.Kind.Decode(merged.Object)
	if err != nil {
		return nil, false, apierrors.NewBadRequest(err.Error())
	}
	if req.Kind.Namespaced {
		object.SetNamespace(req.Namespace)
	}
	if missing {
		object.SetResourceVersion("")
		object, err = r.create(req, object)
		return object, true, err
	}
	object, err = r.replace(req, live, object, false)
	return object, false, err
}

// applyError is the answer to a failed merge: a conflict, or what the schema does not allow.
func applyError(err error) error {
	var status *apierrors.StatusError
	if err == nil || errors.As(err, &status) {
		return err
	}
	return unnamed(err)
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
	// Fields that the kind does not have are errors of the merge.
	checked := applied.DeepCopy()
	return applied, req.named(checked)
}

// unnamed is an error without a reason, as kube-apiserver returns errors of its libraries.
func unnamed(err error) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: err.Error()}}
}
