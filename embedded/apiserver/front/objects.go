package front

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-anew/karpenter/embedded/apiserver/kind"
	"github.com/karpenter-anew/karpenter/embedded/apiserver/registry"
)

// answer is what a request gets: an object, a list, or a status.
type answer struct {
	code     int
	value    any
	warnings []string
}

// objects answers requests for objects of a kind.
func (s *Server) objects(w http.ResponseWriter, req *http.Request, parts []string) {
	t, ok := parse(parts)
	if !ok {
		notFound(w)
		return
	}
	if reviewed(w, req, t) {
		return
	}
	if name := t.resource.Resource; t.resource.Group == "" && name == "bindings" && t.name == "" {
		t.resource.Resource, t.subresource = "pods", "binding" // of the pod that the body names
	}
	wants, ok := accepted(req)
	if !ok {
		fail(w, notAcceptable(watches(req, t)))
		return
	}
	if _, ok := includes(req); !ok && wants == table {
		fail(w, apierrors.NewBadRequest(fmt.Sprintf("Unable to convert to Table as requested: includeObject: Invalid value: %q: "+
			"must be 'Metadata', 'Object', 'None', or empty", req.URL.Query().Get("includeObject"))))
		return
	}
	if watches(req, t) {
		s.watch(w, req, t, wants)
		return
	}
	var out answer
	err := s.Do(func(r *registry.Registry) error {
		if t.kind = r.Kind(t.resource); t.kind == nil && !slices.ContainsFunc(r.Kinds(), func(k *kind.Kind) bool { return k.Group == t.resource.Group && k.New != nil }) {
			out.code = http.StatusNotFound
		}
		if t.kind == nil || t.namespaced && !t.kind.Namespaced {
			return unknownResource()
		}
		if t.kind.Namespaced && !t.namespaced && t.name == "" && req.Method != http.MethodGet {
			return methodNotAllowed()
		}
		if t.kind.Namespaced && !t.namespaced && t.name != "" {
			return unknownResource()
		}
		var err error
		out, err = handle(r, req, t)
		if err == nil && wants != whole {
			include, _ := includes(req)
			out.value, err = shaped(t, out.value, wants, r.Now(), include)
		}
		return err
	})
	warnings(w, out.warnings)
	if err != nil && out.code == http.StatusNotFound {
		notFound(w)
		return
	}
	if err != nil {
		fail(w, err)
		return
	}
	respond(w, out.code, plain(t, out.value))
}

// plain is the answer as kube-apiserver encodes it: objects in lists of built-in kinds do not repeat their kind.
func plain(t target, value any) any {
	list, ok := value.(*unstructured.UnstructuredList)
	if !ok || t.kind.New == nil {
		return value
	}
	objects := make([]any, len(list.Items))
	for i := range list.Items {
		object := maps.Clone(list.Items[i].Object)
		delete(object, "apiVersion")
		delete(object, "kind")
		objects[i] = object
	}
	out := maps.Clone(list.Object)
	out["items"] = objects
	return out
}

func unknownResource() error {
	return problem(http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource")
}

// handle does what the request asks.
func handle(r *registry.Registry, req *http.Request, t target) (answer, error) {
	ask, err := t.request(req)
	if err != nil {
		return answer{}, err
	}
	if t.kind.Deprecation != "" {
		ask.Warnings = append(ask.Warnings, t.kind.Deprecation)
	}
	var out answer
	switch t.subresource {
	case "":
		out, err = object(r, req, t, ask)
	case "status":
		if !t.kind.Status {
			return answer{}, unknownResource()
		}
		out, err = object(r, req, t, ask)
	case "scale":
		if t.kind.Scale == nil {
			return answer{}, unknownResource()
		}
		out, err = scale(r, req, ask)
	default:
		out, err = special(r, req, t, ask)
	}
	out.warnings = ask.Warnings
	if apierrors.IsMethodNotSupported(err) && t.kind.New == nil {
		err = apierrors.NewMethodNotSupported(t.kind.Resource(), action(req))
	}
	return out, err
}

// action is what a request does, as the API names it.
func action(req *http.Request) string {
	names := map[string]string{http.MethodPost: "create", http.MethodPut: "update", http.MethodGet: "get", http.MethodPatch: "patch", http.MethodDelete: "delete"}
	return names[req.Method]
}

// object handles a request for an object, its status, or a collection.
func object(r *registry.Registry, req *http.Request, t target, ask *registry.Request) (answer, error) {
	switch {
	case req.Method == http.MethodGet && t.name == "":
		options, err := list(req)
		if err != nil {
			return answer{}, err
		}
		found, err := r.List(ask, options)
		return answer{code: http.StatusOK, value: found}, err
	case req.Method == http.MethodGet:
		found, err := r.GetFrom(ask, req.URL.Query().Get("resourceVersion"))
		return answer{code: http.StatusOK, value: found}, err
	case req.Method == http.MethodPost && t.name == "":
		sent, err := sentObject(req, ask)
		if err != nil {
			return answer{}, err
		}
		created, err := r.Create(ask, sent)
		return answer{code: http.StatusCreated, value: created}, err
	case req.Method == http.MethodPut && t.name != "":
		sent, err := sentObject(req, ask)
		if err != nil {
			return answer{}, err
		}
		updated, created, err := r.Update(ask, sent)
		return answer{code: codeOf(created), value: updated}, err
	case req.Method == http.MethodPatch && t.name != "":
		return patch(r, req, ask)
	case req.Method == http.MethodDelete && t.subresource == "" && (t.name != "" || slices.Contains(verbs(t.kind), "deletecollection")):
		return remove(r, req, t, ask)
	}
	return answer{}, methodNotAllowed()
}

// sentObject reads the object in the body.
func sentObject(req *http.Request, ask *registry.Request) (map[string]any, error) {
	sent, duplicates, err := content(req, ask.Kind.Kind, ask.Kind.New == nil)
	if err != nil {
		return nil, err
	}
	if len(duplicates) > 0 && ask.FieldValidation == metav1.FieldValidationStrict {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: strict decoding error: %s",
			ask.Kind.Kind, ask.Kind.Version, ask.Kind.Kind, strings.Join(duplicates, ", ")))
	}
	if ask.FieldValidation == metav1.FieldValidationWarn {
		ask.Warnings = append(ask.Warnings, duplicates...)
	}
	return sent, nil
}

func patch(r *registry.Registry, req *http.Request, ask *registry.Request) (answer, error) {
	raw, err := body(req)
	if err != nil {
		return answer{}, err
	}
	patched, created, err := r.Patch(ask, patchType(req, ask), raw)
	return answer{code: codeOf(created), value: patched}, err
}

// patchType is the type of a patch. The manager of an applied configuration must be named.
func patchType(req *http.Request, ask *registry.Request) types.PatchType {
	kind, _ := mediaType(req.Header.Get("Content-Type"))
	if kind == string(types.ApplyPatchType) || kind == string(types.ApplyYAMLPatchType) {
		ask.Manager = req.URL.Query().Get("fieldManager")
		return types.ApplyYAMLPatchType
	}
	return types.PatchType(kind)
}

// codeOf is the code of a successful write.
func codeOf(created bool) int {
	if created {
		return http.StatusCreated
	}
	return http.StatusOK
}

func remove(r *registry.Registry, req *http.Request, t target, ask *registry.Request) (answer, error) {
	options, err := deleteOptions(req)
	if err != nil {
		return answer{}, err
	}
	if errs := metav1validation.ValidateDeleteOptions(&options); len(errs) > 0 {
		return answer{}, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "DeleteOptions"}, "", errs)
	}
	if t.name == "" {
		selected, err := list(req)
		if err != nil {
			return answer{}, err
		}
		removed, err := r.DeleteCollection(ask, selected, options)
		return answer{code: http.StatusOK, value: removed}, err
	}
	removed, gone, err := r.Delete(ask, options)
	if err != nil {
		return answer{}, err
	}
	code := http.StatusOK
	if orphan := options.OrphanDependents; !gone && orphan != nil && !*orphan { //nolint:staticcheck // deprecated, and still sent
		code = http.StatusAccepted
	}
	if gone && !slices.Contains([]string{"pods", "serviceaccounts"}, t.resource.Resource) {
		return answer{code: code, value: metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess,
			Details: &metav1.StatusDetails{Name: t.name, Group: t.resource.Group, Kind: t.resource.Resource, UID: removed.GetUID()},
		}}, nil
	}
	return answer{code: code, value: removed}, nil
}

func deleteOptions(req *http.Request) (metav1.DeleteOptions, error) {
	var out metav1.DeleteOptions
	if req.ContentLength != 0 {
		sent, _, err := content(req, "", false)
		if err != nil {
			return out, err
		}
		if object := (&unstructured.Unstructured{Object: sent}); object.GetKind() != "" && object.GetKind() != "DeleteOptions" {
			return out, apierrors.NewBadRequest(fmt.Sprintf("no kind %q is registered for version %q in scheme %q", object.GetKind(), object.GetAPIVersion(), "pkg/runtime/scheme.go:111"))
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(sent, &out); err != nil {
			return out, apierrors.NewBadRequest(fmt.Sprintf("reading the delete options: %v", err))
		}
		return out, nil // the query is ignored
	}
	query := req.URL.Query()
	out.DryRun = query["dryRun"]
	if policy := metav1.DeletionPropagation(query.Get("propagationPolicy")); policy != "" {
		out.PropagationPolicy = &policy
	}
	if text := query.Get("gracePeriodSeconds"); text != "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return out, apierrors.NewBadRequest(fmt.Sprintf("strconv.ParseInt: parsing %q: %v", text, errors.Unwrap(err)))
		}
		out.GracePeriodSeconds = &seconds
	}
	return out, nil
}

// scale handles the subresource scale.
func scale(r *registry.Registry, req *http.Request, ask *registry.Request) (answer, error) {
	var out *autoscalingv1.Scale
	var err error
	switch req.Method {
	case http.MethodGet:
		out, err = r.GetScale(ask)
	case http.MethodPut:
		var sent map[string]any
		if sent, _, err = content(req, "Scale", false); err == nil {
			out, err = r.UpdateScale(ask, sent)
		}
	case http.MethodPatch:
		var raw []byte
		if raw, err = body(req); err == nil {
			out, err = r.PatchScale(ask, patchType(req, ask), raw)
		}
	default:
		err = methodNotAllowed()
	}
	return answer{code: http.StatusOK, value: out}, err
}

// special handles the subresources of pods and namespaces.
func special(r *registry.Registry, req *http.Request, t target, ask *registry.Request) (answer, error) {
	success := answer{code: http.StatusCreated, value: metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess, Code: http.StatusCreated}}
	name := t.resource.Resource + "/" + t.subresource
	switch {
	case t.resource.Group != "":
		return answer{}, unknownResource()
	case name == "pods/binding" && req.Method == http.MethodPost:
		var binding corev1.Binding
		if err := sentTyped(req, corev1.SchemeGroupVersion.WithKind("Binding"), &binding); err != nil {
			return answer{}, err
		}
		if ask.Name == "" {
			ask.Name = binding.Name
		}
		return success, r.Bind(ask, &binding)
	case name == "pods/eviction" && req.Method == http.MethodPost:
		var eviction policyv1.Eviction
		if err := sentTyped(req, policyv1.SchemeGroupVersion.WithKind("Eviction"), &eviction); err != nil {
			return answer{}, err
		}
		return success, r.Evict(ask, &eviction)
	case name == "namespaces/finalize" && req.Method == http.MethodPut:
		sent, err := sentObject(req, ask)
		if err != nil {
			return answer{}, err
		}
		updated, err := r.Finalize(ask, sent)
		return answer{code: http.StatusOK, value: updated}, err
	case name == "pods/binding" || name == "pods/eviction" || name == "namespaces/finalize":
		return answer{}, methodNotAllowed()
	}
	for _, known := range []string{"pods/log", "pods/exec", "pods/attach", "pods/portforward", "pods/proxy", "pods/ephemeralcontainers", "pods/resize", "nodes/proxy", "serviceaccounts/token"} {
		if name == known {
			return answer{}, notImplemented("the subresource " + known)
		}
	}
	return answer{}, unknownResource()
}

// sentTyped reads an object of a type that is not stored.
func sentTyped(req *http.Request, gvk schema.GroupVersionKind, into any) error {
	sent, _, err := content(req, gvk.Kind, false)
	if err != nil {
		return err
	}
	k := &kind.Kind{GroupVersionKind: gvk}
	object := &unstructured.Unstructured{Object: sent}
	if err := k.SameType(object); err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", object.GetKind(), object.GroupVersionKind().Version, gvk.Kind, err))
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(sent, into); err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("reading the body: %v", err))
	}
	return nil
}

// items are the objects of an answer.
func items(value any) ([]*unstructured.Unstructured, *unstructured.UnstructuredList) {
	switch v := value.(type) {
	case *unstructured.Unstructured:
		return []*unstructured.Unstructured{v}, nil
	case *unstructured.UnstructuredList:
		out := make([]*unstructured.Unstructured, len(v.Items))
		for i := range v.Items {
			out[i] = &v.Items[i]
		}
		return out, v
	}
	return nil, nil
}
